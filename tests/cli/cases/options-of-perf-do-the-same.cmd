# -g before a command, --call-graph with a size and --sort are what users of perf type.
"$COATI" record -q -g -o a.data -- "$HELPERS/../../examples/words" >/dev/null
"$COATI" record -q --call-graph dwarf,2048 -o b.data -- "$HELPERS/../../examples/words" >/dev/null
"$COATI" dump --type SAMPLE a.data | grep -m 1 -c 'stack_size=' # unwound while recording
"$COATI" dump --type SAMPLE b.data | grep -m 1 -o 'stack_size=[0-9]*'
for key in dso:image symbol:function pid:process tid:thread srcline:line; do
	"$COATI" report -q --csv --sort "${key%:*}" a.data >one
	"$COATI" report -q --csv --by "${key#*:}" a.data >two
	cmp one two && echo "$key $(wc -l <one | awk '{ print ($1 > 1) }')"
done
# --children sorts by total, from the largest to the smallest; --no-children by self.
"$COATI" report -q --json --children a.data | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
total = [r["total"] for r in rows]
print(len(rows) > 5, total == sorted(total, reverse=True))'
"$COATI" report -q --json --no-children a.data | python3 -c '
import json, sys
self = [r["self"] for r in json.load(sys.stdin)["rows"]]
print(self == sorted(self, reverse=True), self[0] > 0)'
