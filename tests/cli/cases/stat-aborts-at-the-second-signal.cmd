"$COATI" stat -q -e page-faults -o out -- sh -c 'trap "" TERM; echo $$ >pid; touch started; while :; do sleep 0.02; done' &
pid=$!
wait_for started
kill -TERM $pid
sleep 0.2
kill -TERM $pid
wait $pid
echo $?
kill -0 "$(cat pid)" 2>/dev/null && echo "the command lives on"
[ ! -s out ] || cat out
