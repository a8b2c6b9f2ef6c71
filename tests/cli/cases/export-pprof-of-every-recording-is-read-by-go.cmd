# what go tool pprof writes again after it has read our file has the sums of the recording; without that option it shortens names of C++
lib=$CLI/../lib
HOME=$PWD
export HOME
for kind in simple one losses hostile events faults kernel threads; do
	"$lib/write-recording" $kind $kind.data || echo "$kind: not written"
	"$COATI" export -q -f pprof -i $kind.data -o $kind.pb.gz || echo "$kind: status $?"
	go tool pprof -symbolize=none -proto -output again.pb.gz $kind.pb.gz >said 2>&1 || { echo "$kind: go does not read it:"; cat said; continue; }
	COATI_TOOL=$COATI "$lib/read-pprof" again.pb.gz >totals && COATI_TOOL=$COATI "$lib/compare-totals" totals $kind.data >said || { echo "$kind:"; head -n 5 said; }
done
# no samples: pprof has nothing to show of them, and takes the file for one of its own
"$lib/write-recording" empty empty.data
"$COATI" export -q -f pprof empty.data
go tool pprof -raw empty.pb.gz >raw 2>said || cat said
grep '^samples/count' raw
