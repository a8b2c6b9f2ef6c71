# in tables and in trees, as text and as JSON; steps of time come in their order
"$COATI" record -q -- "$HELPERS/../../examples/words" >/dev/null
for view in "" "--tree" "--csv" "--by line"; do
	# shellcheck disable=SC2086
	all=$("$COATI" report -q --min 0 $view | grep -vc "^#") some=$("$COATI" report -q --min 99 $view | grep -vc "^#")
	[ "$some" -lt "$all" ] || echo "$view: $some lines of $all"
done
python3 - "$COATI" <<'PY'
import json, subprocess, sys
def ask(*options):
    return json.loads(subprocess.check_output([sys.argv[1], "report", "-q", "--json", *options]))
tree = ask("--tree", "--min", "50")
nodes = tree["nodes"]
assert 1 < len(nodes) < len(ask("--tree")["nodes"])
assert all(n["total"] * 2 >= nodes[0]["total"] and n["parent"] < i for i, n in enumerate(nodes))
assert all(r["total"] * 10 >= tree["total"] for r in ask("--min", "10%")["rows"])
times = [r["start_ns"] for r in ask("--by", "time:20ms")["rows"]]
assert len(times) > 1 and times == sorted(times) and all(t % 20000000 == 0 for t in times), times
PY
