"$COATI" stat -q -e page-faults -o out -- sh -c 'echo $$ >pid; touch started; exec sleep 60' &
wait_for started
kill -KILL $!
wait $! 2>/dev/null
tries=0
while kill -0 "$(cat pid)" 2>/dev/null && [ $tries -lt 500 ]; do tries=$((tries + 1)); sleep 0.01; done
kill -0 "$(cat pid)" 2>/dev/null && echo "the command lives on"
true
