# What is no request of an agent is refused, and clients that keep the relay waiting are not in the way of others.
. "$CLI/../fleet/server.sh"
relay=$(free_port)
nobody=$(free_port)
"$COATI" agent --relay "127.0.0.1:$relay" --clickhouse "http://127.0.0.1:$nobody/fleet" >relay.out 2>&1 &
relay_pid=$!
trap 'kill $relay_pid' EXIT
wait_until curl -s -o /dev/null "http://127.0.0.1:$relay/metrics"
"$CLI/../fleet/hostile-clients" "$relay" "$("$FLEET/send-windows" columns)" 1100
# an agent keeps its windows while there is no database, and hears why
COATI_TEST_DEADLINE=1 "$FLEET/send-windows" send "relay://127.0.0.1:$relay" spool 1 2 | tail -n 1 | grep -o 'windows 0 failed 0 rows 0 waiting 2'
grep -q "127.0.0.1:$nobody" relay.out || cat relay.out
"$COATI" agent --relay 0.0.0.0:0 --clickhouse "http://127.0.0.1:$nobody/fleet" 2>&1 | tail -n 1
"$COATI" agent --relay localhost:0 2>&1 | head -n 1
"$COATI" agent --relay localhost:0 --clickhouse "http://127.0.0.1:$nobody/fleet" --print 2>&1 | head -n 1
"$COATI" agent --relay localhost:0 --clickhouse relay://localhost:1 2>&1 | head -n 1
