"$COATI" stat -q -e page-faults -o out -- sh -c 'trap "exit 7" TERM; touch started; while :; do sleep 0.02; done' &
wait_for started
kill -TERM $!
wait $!
echo $?
grep -c page-faults out
