"$COATI" record -q --switch-output 150ms --max-files 2 -e cpu-clock:u sh -c 'sleep 0.8'
ls coati.data.* | wc -l
for f in coati.data.*; do
	"$COATI" dump -i "$f" -T COMM >out || echo "dump: $?"
	grep -q 'sleep$' out || { echo "$f does not know the command"; cat out; }
done
rm -f coati.data.*
"$COATI" record -q --switch-output signal -e cpu-clock:u sh -c ': >started; sleep 0.3' &
wait_for started
sleep 0.1
kill -USR2 $!
wait $!
ls coati.data.* | wc -l
