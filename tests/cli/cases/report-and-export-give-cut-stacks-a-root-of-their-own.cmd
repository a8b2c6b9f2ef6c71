# 64 bytes of stack hold no caller of main's: nearly all stacks are cut, and stand below [truncated], not beside _start
words=$HELPERS/../../examples/words
"$COATI" record -q -g table --stack-size 64 -e cpu-clock:u -- "$words" >/dev/null
"$COATI" report -q --tree | grep -q '\[truncated\]' && echo "tree"
"$COATI" report -q --flame | grep -q '\[truncated\]' && echo "flame graph"
"$COATI" report -q --html page.html 2>/dev/null && read_page page.html texts | grep -q '\[truncated\]' && echo "page"
"$COATI" report -q | grep '\[truncated\]'
for format in pprof folded speedscope firefox perfetto chrome otlp json; do
	"$COATI" export -q -f $format --no-compress -o out coati.data 2>/dev/null || echo "$format failed"
	grep -qaF '[truncated]' out && echo "$format"
done
# how many of the samples, to one in twenty
"$COATI" export -q -f folded -o - coati.data >folded
"$COATI" report -q --json >json
python3 - <<'PY'
import json
cut = whole = 0
for line in open("folded"):
    stack, n = line.rsplit(" ", 1)
    frames = stack.split(";")
    whole += int(n)
    cut += int(n) * ("[truncated]" in frames[:2])
q = json.load(open("json"))["quality"]
share = (q["stacks"]["truncated"] + q["stacks"]["gap"]) / q["samples"]
print("of %.3f cut stacks %.3f have the root" % (share, cut / whole)) if share < 0.5 or abs(cut / whole - share) > 0.05 else None
PY
