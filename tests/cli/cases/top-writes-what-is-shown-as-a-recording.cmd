. "$CLI/screen.sh"
"$HELPERS/shift" &
load=$!
open_screen 120 30 top -p $load --interval 200ms -o shown.data
until_shows 'history 0:0[6-9]'
# one second of the past, which does not change any more
keys Space Left Left Left Left
until_shows ' -0:0'
keys w
until_shows 'wrote shown.data, [0-9]* samples'
written=$(screen | sed -n 's/.*wrote shown.data, \([0-9]*\) samples.*/\1/p')
shown=$(screen | sed -n 's/^ \([0-9]*\) samples, 0 lost.*/\1/p')
keys q
wait_for status
[ "$written" = "$shown" ] && [ "$written" -gt 0 ] || echo "written $written, shown $shown"
"$COATI" report -i shown.data --json --limit 0 >report 2>err || cat err
[ "$(json_number samples <report)" = "$written" ] || cat report
grep -q '"function":"alpha"' report || cat report
# it needs no file of this machine
"$COATI" report -i shown.data >/dev/null 2>err || cat err
perf report --stdio -i shown.data >out 2>err </dev/null || cat err
grep -q alpha out || cat out
kill $load
