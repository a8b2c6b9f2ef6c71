# of each thread, of each function, of each function in a thread
lib=$CLI/../lib
export COATI_TOOL="$COATI"
for kind in simple hostile renamed events; do
	"$lib/write-recording" $kind $kind.data
	"$COATI" export -q -f perfetto -i $kind.data -o trace || echo "$kind: status $?"
	"$lib/read-perfetto" trace >totals || echo "$kind: no trace"
	"$lib/compare-totals" totals $kind.data || echo "$kind: not the same"
done
