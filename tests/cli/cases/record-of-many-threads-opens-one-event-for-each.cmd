# 601 threads on each CPU: side-band records come from one event a CPU; samples are those of the process alone, and
# the recorder ends with it
"$HELPERS/wait-threads" 600 ready &
pid=$!
wait_for ready
"$COATI" record -q -g none -e context-switches -c 1 -p "$pid" -o r.data &
recorder=$!
wait_until test -s r.data
open=$(ls -l "/proc/$recorder/fd" | grep -c perf_event)
most=$((602 * $(getconf _NPROCESSORS_ONLN)))
[ "$open" -le "$((most + 8))" ] || echo "$open events are open, not $most"
sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done' # others leave their CPUs, too
first=$(stat -c %s r.data)
grew()
{
	[ "$(stat -c %s r.data)" -gt "$((first + 100000))" ]
}
wait_until grew
# of context switches, which every event of a CPU reports, those of the process alone
"$COATI" record -q -g fp --off-cpu -d 50ms -p "$pid" -o o.data
kill "$pid"
wait "$recorder"
echo "status $?"
"$COATI" report -q --by process --json >j
python3 - <<'PY'
import json
print(*{r["process"] for r in json.load(open("j"))["rows"]})
PY
"$COATI" report -q -i o.data --mode off --by process --json >j
python3 -c 'import json; print(*{r["process"] for r in json.load(open("j"))["rows"]})'
