# a ring of one page that the walker shares loses samples and reports of stacks: each page fault is a sample or lost, and no
# reader counts the reports; of a file, and of a stream, which has the recorder's account at its end
recorded() { "$COATI" record -g bpf -e page-faults:u -c 1 -m 4k "$@" -- "$HELPERS/touch-pages" 20000 2>said; }
check()
{
	"$COATI" report --json -n 0 -i "$1" >report 2>/dev/null
	"$COATI" trace --json -i "$1" >trace 2>/dev/null
	"$COATI" dump --stats -i "$1" >dump 2>/dev/null
	python3 - <<'PY'
import json, re
samples, lost = (int(n.replace(",", "")) for n in re.search(r"([0-9,]+) samples, ([0-9,]+) lost", open("said").read()).groups())
quality = json.load(open("report"))["quality"]
found = [quality["lost"], json.load(open("trace"))["quality"]["lost"], int(re.search(r"^lost ([0-9]+)", open("dump").read(), re.M)[1])]
print("same" if found == [lost] * 3 and quality["samples"] == samples else f"{samples} samples, {lost} lost, found {quality['samples']}, {found}")
print("whole" if 20000 <= samples + lost < 20200 else f"{samples} + {lost} of 20000")
PY
}
recorded -o file >/dev/null
check file
# LOST records count samples and reports, but for what was lost last of all
python3 - "$(grep -a -o '^walks_dropped=[0-9]*' file | cut -d = -f 2)" "$(grep -a -o '^lost=[0-9]*' file | cut -d = -f 2)" \
	"$("$COATI" dump -i file -T LOST | grep -o ' lost=[0-9]*' | cut -d = -f 2 | paste -sd +)" <<'PY'
import sys
dropped, lost, told = int(sys.argv[1]), int(sys.argv[2]), sum(map(int, sys.argv[3].split("+")))
print("told" if dropped and lost < told <= lost + dropped else f"{lost} samples and {dropped} reports, {told} told")
PY
recorded -o - >stream
check stream
# how much of the CPU time has samples, which the account tells
"$COATI" record -q -e task-clock:u -c 1000000 -o - -- "$HELPERS/kinds" steady 200 100 >steady
python3 - "$("$COATI" report --json -n 0 -i - <steady 2>/dev/null)" <<'PY'
import json, sys
quality = json.loads(sys.argv[1])["quality"]
print("sampled" if quality["sampled"]["share"] > 0.5 else quality)
PY
