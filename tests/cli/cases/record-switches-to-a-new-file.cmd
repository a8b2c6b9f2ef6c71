# both files are of a time when the command ran
"$COATI" record -q --switch-output 150ms --max-files 2 -e cpu-clock:u sleep 1000 &
wait_until pgrep -P $! -x sleep >/dev/null
all_newer() { set -- coati.data.*; [ "$#" = 2 ] && [ "$1" \> "$first" ]; }
wait_until eval 'first=$(ls coati.data.* 2>/dev/null | tail -n 1) && [ -n "$first" ]'
wait_until all_newer
kill -TERM $!
wait $!
ls coati.data.* | wc -l
for f in coati.data.*; do
	"$COATI" dump -i "$f" -T COMM >out || echo "dump: $?"
	grep -q 'sleep$' out || { echo "$f does not know the command"; cat out; }
done
rm -f coati.data.*
"$COATI" record -q --switch-output signal -e cpu-clock:u sh -c ': >started; until [ -e stop ]; do sleep 0.02; done' &
wait_for started
kill -USR2 $!
two_files() { [ "$(ls coati.data.* 2>/dev/null | wc -l)" = 2 ]; }
wait_until two_files
: >stop
wait $!
ls coati.data.* | wc -l
