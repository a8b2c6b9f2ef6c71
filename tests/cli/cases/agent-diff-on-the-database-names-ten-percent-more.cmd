# Version A, then version B, in which target does a tenth more: diff of two ranges of time in ClickHouse names it, and no other.
. "$CLI/../fleet/server.sh"
start_clickhouse
url=http://127.0.0.1:$PORT/fleet
"$COATI" agent -q --clickhouse "$url" --init-schema 2>/dev/null
"$COATI" agent -q --clickhouse "$url" --spool spool --window 1s --send-every 2s -F 999 --budget 100% &
agent=$!
sleep 2
# runs PERCENT: on each CPU, for 20 s of its time
runs()
{
	pids=
	for i in $(seq "$(nproc)"); do
		"$HELPERS/kinds" steady 20000 "$1" >/dev/null &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086 # numbers
	wait $pids
}
runs 100
sleep 2
middle=$(date +%s)
sleep 2
runs 110
sleep 5
kill $agent
wait $agent || echo "agent: $?"
database=clickhouse://127.0.0.1:$PORT/fleet
"$COATI" diff --before "$database@@$((middle - 600))..@$middle" --after "$database@@$middle..now" -p kinds --json >diff 2>err || true
is_json diff || cat diff err
# of the program: what the kernel does in it is the machine's, too
python3 - <<'END'
import json
rows = json.load(open("diff"))["rows"]
print("more:", *(r["function"] for r in rows if r["self"]["verdict"] == "more" and r["image"] == "kinds"))
END
