# its events are open, but it still prepares (loads the stack walker, reads mappings): a signal ends it as at any other time
sleep 1000 &
pid=$!
for round in 1 2; do
	"$COATI" record -q -p $pid -o r$round.data &
	recorder=$!
	until counts_in $recorder; do :; done
	kill -TERM $recorder
	wait $recorder || echo "round $round: it ended with $?"
	"$COATI" dump r$round.data | grep -q FINISHED_INIT || echo "round $round: no recording"
done
kill $pid
