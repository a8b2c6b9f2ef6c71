# SIGINT is ignored in background jobs of a shell, so it is not sent here
for signal in TERM HUP; do
	rm -f coati.data started
	"$COATI" record -q -e cpu-clock:u sh -c ': >started; while :; do :; done' &
	wait_for started
	wait_for coati.data
	kill -$signal $!
	wait $!
	echo "$signal $?"
	"$COATI" dump --stats >out 2>err || { echo "dump: $?"; cat err; }
	grep -q 'EXIT\|COMM' out || echo "nothing in it"
done
