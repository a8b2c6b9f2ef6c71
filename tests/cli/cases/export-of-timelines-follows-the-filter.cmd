# what is asked for is in the file and nothing else: stacks, threads, times, counts, several files
lib=$CLI/../lib
"$lib/write-recording" losses a.data
"$lib/write-recording" simple b.data
for format in speedscope firefox perfetto chrome; do
	for words in '--focus leaf' '--hide work' '--thread worker' '--time 10ms-20ms' '--cpu 1' '--counts' '--function nothing' '--no-inline' '-i b.data'; do
		# shellcheck disable=SC2086 # words
		"$COATI" export -q -f $format -i a.data $words --no-compress --check -o out >said 2>&1 || { echo "$format $words: status $?"; cat said; }
	done
done
"$COATI" export -q -f perfetto -i a.data --time 10ms-20ms -o out
"$lib/read-perfetto" out >totals
python3 - <<'PY'
import json
t = json.load(open("totals"))
print("losses of other times") if t["losses"] else None
print("samples:", t["samples"]) if not 0 < t["samples"] < 40 else None
PY
