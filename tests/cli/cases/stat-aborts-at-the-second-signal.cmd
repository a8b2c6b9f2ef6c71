"$COATI" stat -q -e page-faults -o out -- sh -c 'trap "" TERM; echo $$ >pid; touch started; while :; do sleep 0.02; done' &
pid=$!
wait_for started
# two that come at once are one to the kernel: again until one has come as the second
while kill -TERM $pid 2>/dev/null; do sleep 0.1; done &
wait $pid
echo $?
kill -0 "$(cat pid)" 2>/dev/null && echo "the command lives on"
[ ! -s out ] || cat out
