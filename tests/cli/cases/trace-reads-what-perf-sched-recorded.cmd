# what perf sched record tells by tracepoints alone is the same: who ran how long, who woke whom and
# in which order; why they waited it does not tell
# by chance: perf loses records and does not say so; wrong: an edge or its order, in each try
agree()
{
	perf sched record -m 8M -o sched.data -- "$HELPERS/relay" 40 >told 2>err || cat err
	"$CLI/trace-truth" "$COATI" told 40 sched.data
}
judge 5 2 agree
"$COATI" trace -q --check -i sched.data >out || cat out
"$COATI" trace -q --json -i sched.data | grep -o '"relay-[abcd]"' | sort -u | wc -l
