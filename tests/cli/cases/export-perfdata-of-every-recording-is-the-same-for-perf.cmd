# perf prints every sample of the copy as it prints those of the original (which does not say the names of its events)
for kind in simple one losses hostile renamed events faults kernel threads; do
	"$CLI/../lib/write-recording" $kind $kind.data || echo "$kind: not written"
	"$COATI" export -q -f perfdata -i $kind.data -o copy || echo "$kind: status $?"
	for file in $kind.data copy; do
		perf script -F comm,pid,tid,cpu,time,period,ip,sym -i $file >$file.text 2>err || { echo "$kind: perf does not read $file:"; head -n 3 err; }
	done
	cmp $kind.data.text copy.text
	[ -s copy.text ] || echo "$kind: perf prints nothing"
done
