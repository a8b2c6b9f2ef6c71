# what perf sched record tells by tracepoints alone is the same: who ran how long, who woke whom and in which order; why they waited it does not tell. What is lost is tried again.
for try in 1 2 3 4 5; do
	perf sched record -m 8M -o sched.data -- "$HELPERS/relay" 40 >told 2>err || cat err
	status=0
	"$CLI/trace-truth" "$COATI" told 40 sched.data >wrong || status=$?
	[ $status != 0 ] || [ -s wrong ] || break
done
cat wrong
[ $status = 0 ] || echo "nothing was compared, status $status after $try tries"
"$COATI" trace -q --check -i sched.data >out || cat out
"$COATI" trace -q --json -i sched.data | grep -o '"relay-[abcd]"' | sort -u | wc -l
