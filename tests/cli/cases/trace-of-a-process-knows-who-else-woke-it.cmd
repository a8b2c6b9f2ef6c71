# another process wakes two threads, one that was there and one that starts later: each wake-up has
# its waker, and the time until the threads run is runnable, not blocked
knows()
{
	rm -f in out pid
	mkfifo in out
	"$HELPERS/woken" 30 in out >pid &
	woken=$!
	until [ -s pid ] || ! kill -0 "$woken"; do sleep 0.02; done
	"$COATI" record -q --trace -p "$(cat pid)" -o p.data -- sh -c 'echo go >in; cat out >told' 2>err || cat err
	wait "$woken"
	"$CLI/woken-truth" "$COATI" p.data told 30
}
judge 1 0 knows
"$COATI" trace -q p.data | grep -o '(of all CPUs)'
"$COATI" trace -q --check p.data >checked || cat checked
