# Every row of every table, of the same recording: on the CPUs and off them.
same()
{
	"$COATI" top --once --json -q -d 500ms -F 999 -o data "$@" >top 2>err || { echo "top $*:"; cat err; }
	is_json top || echo "top $*: no JSON"
	by=$2
	[ "$by" != cgroup ] || by=label:cgroup
	mode=on
	[ "$3" != --off-cpu ] || mode=off
	"$COATI" report --json -i data --limit 0 --mode $mode --by "$by" >report 2>/dev/null
	for f in top report; do
		python3 - $f >$f.rows <<-'EOF'
			import json, sys
			d = json.load(open(sys.argv[1]))
			print(d["total"], d["samples"])
			for r in sorted(json.dumps({k: v for k, v in r.items() if k != "file"}, sort_keys=True) for r in d["rows"]):
			    print(r)
		EOF
	done
	[ "$(sed -n 1p top.rows)" != "0 0" ] || echo "by $by: nothing was sampled"
	cmp top.rows report.rows || { echo "by $by:"; diff top.rows report.rows | head -n 5; }
}
"$HELPERS/shift" &
load=$!
for by in function image thread process service cgroup task; do
	same --by $by -q -p $load
done
for by in function thread wait; do
	same --by $by --off-cpu -p $load
done
kill $load
"$COATI" top --once --by function -q -- "$HELPERS/touch-pages" 1000 >out 2>err || cat err
grep -q '^# .* samples, .* lost, .* throttled, .* truncated$' out || cat out
