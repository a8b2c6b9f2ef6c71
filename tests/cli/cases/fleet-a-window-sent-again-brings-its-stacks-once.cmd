# The rows of a window arrive, but the agent hears nothing of it: when it sends the window again, neither its rows
# nor the stacks and contexts that they refer to are inserted a second time.
. "$CLI/../fleet/server.sh"
start_clickhouse
"$FLEET/send-windows" schema "http://127.0.0.1:$PORT/fleet" >/dev/null
# equal rows would become one
sql 'SYSTEM STOP MERGES'
proxy=$(free_port)
# stacks, contexts, rows
"$CLI/../fleet/faulty-proxy" "$proxy" "$PORT" ok ok deaf >proxy.out 2>&1 &
proxy_pid=$!
trap 'kill $proxy_pid; stop_clickhouse' EXIT
wait_until curl -s -o /dev/null "http://127.0.0.1:$proxy/ping"
"$FLEET/send-windows" send "http://127.0.0.1:$proxy/fleet" spool 1 2 0 100
database_is_exact fleet 2
for table in stacks contexts; do
	sql "SELECT count() > 0, count() = uniqExact(*) FROM (SELECT * FROM fleet.coati_$table)"
done
