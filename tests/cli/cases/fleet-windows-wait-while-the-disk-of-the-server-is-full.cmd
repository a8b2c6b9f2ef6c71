# The file system of the server has no room: windows wait in the spool, and are there once when it has.
. "$CLI/../fleet/server.sh"
mkdir data
mount -t tmpfs -o size=16m none data || exit
start_clickhouse
trap 'stop_clickhouse; umount data' EXIT
"$FLEET/send-windows" schema "http://127.0.0.1:$PORT/fleet" >/dev/null
"$FLEET/send-windows" send "http://127.0.0.1:$PORT/fleet" spool 1 2 | tail -n 1
cat /dev/zero >data/fill 2>/dev/null
COATI_TEST_DEADLINE=1 "$FLEET/send-windows" send "http://127.0.0.1:$PORT/fleet" spool 3 6 | tail -n 1 >said
sed 's/errors.*//' said
grep -q 'answers 500: Code: \(75\|243\)' said || cat said
rm data/fill
"$FLEET/send-windows" send "http://127.0.0.1:$PORT/fleet" spool 7 8 | tail -n 1 | grep -o 'waiting 0'
database_is_exact fleet 8
