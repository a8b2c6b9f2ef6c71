# Agents send through a relay while inserts are refused, cut and left without an answer, and relay, server
# and agent are killed with -9: all windows are there in the end, each once, by few inserts.
. "$CLI/../fleet/server.sh"
start_clickhouse
"$FLEET/send-windows" schema "http://127.0.0.1:$PORT/fleet" >/dev/null
proxy=$(free_port)
relay=$(free_port)
"$CLI/../fleet/faulty-proxy" "$proxy" "$PORT" cut ok ok deaf 503 >proxy.out 2>&1 &
proxy_pid=$!
relay_pid=
senders=
trap 'kill $proxy_pid $relay_pid $senders 2>/dev/null; stop_clickhouse' EXIT
wait_until curl -s -o /dev/null "http://127.0.0.1:$proxy/ping"
printf 'relay.token=of the agents\n' >secrets
chmod 600 secrets
export COATI_TEST_SECRETS=$PWD/secrets
relay_answers() { curl -s "http://127.0.0.1:$relay/metrics" >metrics; }
start_relay()
{
	"$COATI" agent --relay "127.0.0.1:$relay" --clickhouse "http://127.0.0.1:$proxy/fleet" --secrets secrets >>relay.out 2>&1 &
	relay_pid=$!
	wait_until relay_answers
}
# send HOST FIRST LAST
send()
{
	: >"sent.$1"
	COATI_TEST_HOST=$1 "$FLEET/send-windows" send "relay://127.0.0.1:$relay" "spool.$1" "$2" "$3" 20 100 >"sent.$1" &
	senders="$senders $!"
}
start_relay
for host in one two three four five six; do
	send $host 1 4
done
# a sender is killed while it sends: what waits is in its spool
wait_until grep -q 'given 4' sent.six
kill -9 ${senders##* }
# the relay is killed, and comes back
has_error() { relay_answers && grep -q 'coati_relay_errors_total [1-9]' metrics; }
wait_until has_error
kill -9 $relay_pid
wait $relay_pid 2>/dev/null
start_relay
# the server is killed, and comes back
kill_clickhouse
start_clickhouse
trap 'kill $proxy_pid $relay_pid $senders 2>/dev/null; stop_clickhouse' EXIT
send six 5 8
for pid in $senders; do wait "$pid" 2>/dev/null; done
for host in one two three four five; do
	send $host 5 8
done
for pid in $senders; do wait "$pid" 2>/dev/null; done
senders=
tail -qn 1 sent.* | sed 's/.*\(failed.*\) rows.*\(waiting [0-9]*\).*/\1 \2/' | sort | uniq -c | tr -s ' '
database_is_exact fleet 8 6
# a request of nobody
relay_answers
curl -s -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/x-coati-parcels' --data-binary x "http://127.0.0.1:$relay/parcels"
promtool check metrics <metrics >problems 2>&1 || cat problems
kill $relay_pid
wait $relay_pid
echo "ended with $?"
relay_pid=
# many at once: an insert a second at most
start=$(date +%s)
: >relay.out
start_relay
for host in a b c d e f g h i j k l m n o p q r s t; do
	send $host 1 1
done
for pid in $senders; do wait "$pid"; done
senders=
kill $relay_pid
wait $relay_pid
relay_pid=
elapsed=$(($(date +%s) - start))
# a request that its agent gave up counts as windows twice here, and once in the database
inserts=$(sed -n 's/.* requests in \([0-9]*\) inserts.*/\1/p' relay.out)
[ "${inserts:-99}" -le $((elapsed + 2)) ] || { echo "$inserts inserts in $elapsed seconds:"; cat relay.out; }
[ "${inserts:-99}" -lt 20 ] || { echo "nothing was merged:"; cat relay.out; }
sql 'SELECT count(), uniqExact(agent) FROM fleet.coati_windows WHERE length(host) = 1'
