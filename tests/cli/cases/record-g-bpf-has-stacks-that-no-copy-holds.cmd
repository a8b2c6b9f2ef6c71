# 100 KiB of stack: a copy has at most 64. Every sample has an account: complete, flagged, or without user stack.
"$COATI" record -q -g bpf -o b.data -- "$HELPERS/deep" 400 0.3
"$COATI" report -q -i b.data --json >b.json
python3 - <<'PY'
import json
q = json.load(open("b.json"))["quality"]
s = q["stacks"]
print("few samples:", q["samples"]) if q["samples"] < 100 else None
# the program starts and ends in a few samples
print("complete: %d of %d" % (s["complete"], q["samples"])) if s["complete"] < 0.95 * q["samples"] else None
PY
grep -a -o -E '(samples|^stacks_(end|gap|unmapped|truncated|limit|bad|none|pointers))=[0-9]+' b.data |
	awk -F= '$1 == "samples" { n = $2 } $1 != "samples" { sum += $2 } END { if (n != sum || !n) print n, "samples,", sum, "accounted for" }'
# perf reads the same: stacks that have down() begin in _start, but for the first ones, which are copies
perf script -i b.data -F ip,sym --max-stack 600 2>/dev/null | awk '
	/down/ { down = 1 } NF { last = $2 }
	!NF { if (down) { nr++; rooted += last ~ /_start/ } down = 0 }
	END { if (nr < 50 || rooted < nr - 4) print rooted, "of", nr, "begin in _start" }'
