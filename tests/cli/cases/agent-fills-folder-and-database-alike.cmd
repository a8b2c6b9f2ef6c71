# The same windows in a folder and in ClickHouse: the sums by function, image and service are equal; and the agent's numbers.
. "$CLI/../fleet/server.sh"
start_clickhouse
url=http://127.0.0.1:$PORT/fleet
"$COATI" agent --init-schema --clickhouse "$url" 2>&1 | grep -o '18.16, . changes.*'
"$COATI" agent --init-schema --clickhouse "$url" 2>&1 | grep -o '18.16, . changes.*'
"$COATI" agent --print-schema --clickhouse "$url" --cluster one | grep -c 'ON CLUSTER one'
metrics=$(free_port)
"$COATI" agent -q --store store --clickhouse "$url" --spool spool --window 1s --send-every 1s -d 5s \
	--metrics "localhost:$metrics" -F 199 --budget 50% --label datacenter=eu --print >windows &
agent=$!
has_window() { curl -s "http://localhost:$metrics/metrics" >page && grep -q 'coati_agent_windows_total [2-9]' page; }
wait_until has_window
promtool check metrics <page >problems 2>&1 || cat problems
grep -c '^coati_service_cpu_seconds_total{' page | sed 's/[1-9][0-9]*/services/'
curl -s -o /dev/null -w '%{http_code}\n' -H 'Host: evil.example' "http://localhost:$metrics/metrics"
wait $agent || echo "agent: $?"
ls spool
# samples before the first window are in the folder alone
seconds() { sed 's/\(.........\)$/.\1/'; }
start=$(sed -n 's/.*"wall_start_ns":\([0-9]*\).*/\1/p' windows | head -n 1 | seconds)
end=$(sed -n 's/.*"wall_end_ns":\([0-9]*\).*/\1/p' windows | tail -n 1 | seconds)
for by in function image service; do
	for from in store "clickhouse://127.0.0.1:$PORT/fleet"; do
		[ $from = store ] && range="--from @$start --to @$end" || range=
		# shellcheck disable=SC2086 # options are words
		"$COATI" report "$from" $range -q --by $by --json --limit 0 --no-inline --mode on |
			python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"]:
    if row["self"]: print(row.get("function") or row.get("image") or row.get("label"), row["self_samples"], row["self"])' |
			sort >"sums.${from%%:*}"
	done
	[ -s sums.store ] || echo "nothing was sampled"
	diff sums.store sums.clickhouse
done
"$COATI" report "clickhouse://127.0.0.1:$PORT/fleet" -q --by label:datacenter --csv | tail -n 1 | cut -d, -f1
