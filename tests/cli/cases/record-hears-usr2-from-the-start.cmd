# when there is a command to be held, the signal is expected already: the recorder lives, and writes the snapshot
"$COATI" record -q --overwrite -- sh -c 'until [ -e go ]; do sleep 0.01; done' &
pid=$!
tries=0
until [ -n "$(cat /proc/$pid/task/$pid/children 2>/dev/null)" ] || [ "$tries" -gt 2000 ]; do
	tries=$((tries + 1))
	sleep 0.005
done
kill -USR2 "$pid"
touch go
wait "$pid"
echo $?
"$COATI" dump --stats >/dev/null && echo readable
