"$COATI" record -q --overwrite -e cpu-clock:u sh -c ': >started; i=0; while [ ! -e stop ]; do :; done' &
wait_for started
sleep 0.1
kill -USR2 $!
sleep 0.1
: >stop
wait $!
echo $?
"$COATI" dump --stats | grep -q 'SAMPLE' || echo "no samples"
