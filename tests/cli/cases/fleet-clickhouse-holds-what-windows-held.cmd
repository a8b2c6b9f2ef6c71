# Write, read back: every sum is that of the windows; hours instead of windows change none.
. "$CLI/../fleet/server.sh"
start_clickhouse
url=http://127.0.0.1:$PORT/fleet
"$FLEET/send-windows" schema "$url"
"$FLEET/send-windows" schema "$url"
export COATI_TEST_START=$(($(date +%s) / 86400 * 86400 - 86400))
"$FLEET/send-windows" send "$url" spool 1 20 | tail -n 1
database_is_exact fleet 20
"$FLEET/send-windows" totals 1 20 >totals
from=clickhouse://127.0.0.1:$PORT/fleet@@$COATI_TEST_START..@$((COATI_TEST_START + 86400))
"$CLI/../fleet/compare-sums" "$from" totals
"$FLEET/send-windows" hours "$url"
"$FLEET/send-windows" hours "$url"
sql 'SELECT count() < 800 FROM fleet.coati_rows_hour'
"$CLI/../fleet/compare-sums" "$from" totals
"$COATI" report "$from" --service 'it*odd' --by service --csv -q | tail -n 1 | cut -d, -f1
# a table of an older version gets its new column
sql 'ALTER TABLE fleet.coati_windows DROP COLUMN folded'
"$FLEET/send-windows" schema "$url"
"$FLEET/send-windows" send "$url" spool 21 22 | tail -n 1
"$FLEET/send-windows" retention "$url" 3
sql 'SELECT count() > 0 FROM fleet.coati_rows'
"$FLEET/send-windows" retention "$url" 0
sql 'SELECT count() FROM fleet.coati_rows'
