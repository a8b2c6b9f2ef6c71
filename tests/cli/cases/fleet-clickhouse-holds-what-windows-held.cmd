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
# top and view have the sums of the others
sums() { python3 -c 'import json, sys
for row in json.load(sys.stdin)["rows"]:
    if row["self"]: print(row.get("function") or row.get("label"), row["self_samples"], row["self"])' | sort; }
for by in function service label:endpoint; do
	"$COATI" top --store "$from" --by $by --json -q | sums >sums.top
	"$COATI" report "$from" --by $by --json --limit 0 -q --mode on | sums >sums.report
	[ -s sums.top ] && cmp sums.top sums.report
done
"$COATI" top --store "$from" --off-cpu --json -q | sums >sums.top
"$COATI" report "$from" --json --limit 0 -q --mode off | sums >sums.report
cmp sums.top sums.report
"$COATI" top --store "$from" --service 'it*odd' --by service --json -q | sums >sums.top
"$COATI" report "$from" --service 'it*odd' --by service --json -q --mode on | sums >sums.report
wc -l <sums.top
cmp sums.top sums.report
"$COATI" top --store . --service x 2>&1 | grep -o 'service needs --store clickhouse'
"$COATI" view --no-open -q "$from" >address &
view=$!
wait_until test -s address
curl -s "$(cat address)" | head -c 15
echo
curl -s "$(cat address)export?format=folded" >folded.view
kill $view
wait $view
"$COATI" export -f folded -o folded "$from" -q
sort folded >wanted
sort folded.view | cmp - wanted
"$COATI" report --html page.html "$from" -q && wc -c <page.html | sed 's/[0-9]\{5,\}/a page/'
# tables with the ids of an early version are left alone, and windows wait
sql 'CREATE DATABASE early'
sql 'CREATE TABLE early.coati_rows (stack FixedString(16)) ENGINE = Log'
"$COATI" agent --init-schema --clickhouse "http://127.0.0.1:$PORT/early" 2>&1 | grep -o 'early has tables of an early version'
COATI_TEST_DEADLINE=1 "$FLEET/send-windows" send "http://127.0.0.1:$PORT/early" spool.early 1 1 | tail -n 1 | grep -o 'waiting 1 errors [1-9]'
# a table of an older version gets its new column
sql 'ALTER TABLE fleet.coati_windows DROP COLUMN folded'
"$FLEET/send-windows" schema "$url"
"$FLEET/send-windows" send "$url" spool 21 22 | tail -n 1
"$FLEET/send-windows" retention "$url" 3
sql 'SELECT count() > 0 FROM fleet.coati_rows'
"$FLEET/send-windows" retention "$url" 0
sql 'SELECT count() FROM fleet.coati_rows'
