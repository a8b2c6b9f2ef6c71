# Prometheus takes the rules and the expressions of the dashboard, ClickHouse its queries.
. "$CLI/../fleet/server.sh"
packaging=$CLI/../../packaging
promtool check rules "$packaging/prometheus/coati-agent.rules.yml" | grep -o 'SUCCESS.*'
"$CLI/../fleet/dashboard-queries" "$packaging/grafana/coati.json" prometheus >dashboard.yml
promtool check rules dashboard.yml | grep -o 'SUCCESS.*'
start_clickhouse
"$FLEET/send-windows" schema "http://127.0.0.1:$PORT/default" >/dev/null
export COATI_TEST_START=1794787200
"$FLEET/send-windows" send "http://127.0.0.1:$PORT/default" spool 1 5 >/dev/null
"$CLI/../fleet/dashboard-queries" "$packaging/grafana/coati.json" clickhouse api 1794787200 1794790800 >queries
while read -r query; do
	sql "$query" >answer
	grep -q . answer || echo "no answer: $query"
	! grep -q '^Code:' answer || cat answer
done <queries
# the flame graph: what all roots have is what the service has, and so is the sum of self
"$FLEET/send-windows" totals 1 5 | awk '$1 == "cpu-clock" && $2 == "service" && $3 == "api" { print $5 }' >wanted
tail -n 1 queries | { read -r query && sql "$query"; } | awk -F '\t' '
	{ if ($1 > last + 1) print "level " $1 " behind " last; last = $1; self += $4 }
	$1 == 0 { all += $3 }
	END { printf "%.0f\n%.0f\n", all, self }' >sums
cat wanted wanted | cmp - sums
