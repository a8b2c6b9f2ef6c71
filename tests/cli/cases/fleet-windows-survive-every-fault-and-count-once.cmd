# Refusals, cut connections, lost answers, a server and a sender killed with -9: all windows are
# there in the end, each once.
. "$CLI/../fleet/server.sh"
start_clickhouse
"$FLEET/send-windows" schema "http://127.0.0.1:$PORT/fleet" >/dev/null
proxy=$(free_port)
"$CLI/../fleet/faulty-proxy" "$proxy" "$PORT" 503 cut ok ok deaf 500 cut ok deaf 429 deaf cut &
proxy_pid=$!
trap 'kill $proxy_pid; stop_clickhouse' EXIT
wait_until curl -s -o /dev/null "http://127.0.0.1:$proxy/ping"
url=http://127.0.0.1:$proxy/fleet
: >sent
# killed while it sends: what waits is in the spool
"$FLEET/send-windows" send "$url" spool 1 6 50 100 >sent &
sender=$!
wait_until grep -qs 'given 6' sent
kill -9 $sender
wait $sender 2>/dev/null
# the server is killed, and comes back
kill_clickhouse
: >sent
"$FLEET/send-windows" send "$url" spool 7 9 50 100 >sent &
sender=$!
wait_until grep -qs 'given 8' sent
start_clickhouse
trap 'kill $proxy_pid; stop_clickhouse' EXIT
wait $sender
tail -n 1 sent | sed 's/errors.*//'
"$FLEET/send-windows" send "$url" spool 10 12 0 100 | tail -n 1 | grep -o 'waiting 0'
database_is_exact fleet 12
# a wrong password, and a right one from a file
printf 'clickhouse.user=secret\nclickhouse.password=wrong\n' >secrets
chmod 644 secrets
COATI_SECRETS=$PWD/secrets "$COATI" report "clickhouse://127.0.0.1:$PORT/fleet" 2>&1 | grep -o 'other users can read'
chmod 600 secrets
COATI_SECRETS=$PWD/secrets "$COATI" report "clickhouse://127.0.0.1:$PORT/fleet" 2>&1 | grep -o 'Code: 193'
