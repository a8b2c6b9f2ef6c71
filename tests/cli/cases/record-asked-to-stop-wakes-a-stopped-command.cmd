# a command that was stopped gets the signal that ends the recording, and ends by it
"$COATI" record -q -- sh -c 'echo $$ >pid; mv pid started; kill -STOP $$; sleep 30' &
recorder=$!
wait_for started
command=$(cat started)
tries=0
until grep -q '^State:.T' "/proc/$command/status" || [ "$tries" -gt 2000 ]; do
	tries=$((tries + 1))
	sleep 0.005
done
kill -TERM "$recorder"
wait "$recorder"
echo $?
"$COATI" record -q -d 100ms -- sh -c 'kill -STOP $$; sleep 30'
echo $?
