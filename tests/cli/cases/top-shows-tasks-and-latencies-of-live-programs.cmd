. "$CLI/screen.sh"
"$HELPERS/requests" 1000000 cpu >/dev/null &
load=$!
# a program answers when it meets its next event, however busy the machine is
answers()
{
	"$COATI" top --once --json -q -d 1s -F 999 -o data --by task -p $load >top 2>err && grep -q '"type":"request","count":[1-9]' top
}
wait_until answers || cat top err
is_json top || cat top
"$COATI" report --json -i data --by task --limit 0 >report 2>/dev/null
for f in top report; do
	sed 's/.*"rows":\(\[[^]]*\]\).*/\1/; s/},{/}\n{/g' $f | sort >$f.rows
done
cmp top.rows report.rows || cat top report
grep -q '"label":"request"' top || cat top
open_screen 100 24 top -p $load --interval 200ms --by task
until_shows ' task request .* p50 .* p90 .* p99 .* max '
until_shows '%.* request *$'
keys 6
until_shows ' region *$'
keys q
wait_for status
cat status
kill $load
