# the command has had samples before it says that it started
"$COATI" record -q --overwrite -e cpu-clock:u sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; : >started; until [ -e stop ]; do :; done' &
wait_for started
before=$(wc -c <coati.data)
has_grown() { [ "$(wc -c <coati.data)" -gt "$before" ]; }
kill -USR2 $!
wait_until has_grown
: >stop
wait $!
echo $?
"$COATI" dump --stats | grep -q 'SAMPLE' || echo "no samples"
