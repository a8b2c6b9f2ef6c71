# three threads and a process hand a baton round: every hand-over is an edge, in order, and nobody else woke them
for try in 1 2 3 4 5; do
	"$COATI" record -q --trace -- "$HELPERS/relay" 40 >told 2>err || cat err
	status=0
	"$CLI/trace-truth" "$COATI" told 40 || status=$?
	[ $status = 3 ] || break
done
[ $status = 0 ] || echo "nothing was compared, status $status after $try tries"
"$COATI" trace -q --check >out || cat out
