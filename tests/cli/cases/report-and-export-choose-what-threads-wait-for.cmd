# the parts are those of --by wait, add up to the whole, and are the same in a profile for pprof
"$COATI" record -q --trace -- "$HELPERS/requests" 200 lock 300 50 >/dev/null
"$COATI" report -q --json --by wait >all
time_of()
{
	"$COATI" report -q --json "$@" >part 2>err || cat err
	python3 -c 'import json; print(json.load(open("part"))["total"])'
}
python3 - "$(time_of --wait futex)" "$(time_of --wait runnable,preempted)" "$(time_of --wait '*')" "$(time_of --mode off)" \
	"$(time_of --wait futex --task request)" "$(time_of --wait '*' --task request)" <<'PY'
import json, sys
rows = {row["wait"]: row["self"] for row in json.load(open("all"))["rows"]}
futex, latency, every, off, task_futex, task = map(int, sys.argv[1:])
print("futex", futex > 0 and futex == rows["futex"])
print("latency", latency == rows.get("runnable", 0) + rows.get("preempted", 0))
print("all", every == off == sum(rows.values()))
print("of a task", 0 < task_futex <= task < every)
PY
"$COATI" export -q --check -f pprof --wait futex -o p.pb.gz
go tool pprof -raw p.pb.gz 2>/dev/null | sed -n '/^Samples:/,/^Locations/p' | awk '$2 ~ /:$/ { sum += $2 } END { printf "%.0f\n", sum }' >sum
[ "$(cat sum)" = "$(time_of --wait futex)" ] && echo "pprof has the same"
"$COATI" report -q --wait futx
"$COATI" report -q --wait running
