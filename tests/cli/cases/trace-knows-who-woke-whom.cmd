# three threads and a process hand a baton round: every hand-over is an edge, in order, and nobody else woke them
# nothing is left to chance; where records were lost there is nothing to compare
knows()
{
	"$COATI" record -q --trace -- "$HELPERS/relay" 40 >told 2>err || cat err
	"$CLI/trace-truth" "$COATI" told 40
}
judge 1 0 knows
"$COATI" trace -q --check >out || cat out
