"$COATI" record -q -e sched:sched_switch -c 1 -a -o killed.data -- sh -c 'while :; do sleep 0.01; done' &
recorder=$!
tries=0
until "$COATI" dump -i killed.data -T SAMPLE 2>/dev/null | grep -q sched_switch; do
	tries=$((tries + 1))
	[ "$tries" -lt 500 ] || break
	sleep 0.02
done
kill -9 "$recorder"
wait "$recorder" 2>/dev/null
"$COATI" dump -i killed.data -T SAMPLE --json >lines 2>/dev/null
grep -c '"event":"sched:sched_switch".*"fields":{"prev_comm":"' lines | grep -vx 0 >/dev/null && echo fields
"$COATI" dump -i killed.data -T SAMPLE 2>/dev/null | grep -c 'sched:sched_switch: .* prev_comm=' | grep -vx 0 >/dev/null && echo text
