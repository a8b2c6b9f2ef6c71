"$COATI" record -q -o some.data -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 10 2>err || cat err
mkdir sub && cd sub || exit
"$COATI" export -q -f folded ../some.data && ls
"$COATI" export -q -f folded -o - <../some.data -i - | cmp - some.folded && echo same
"$COATI" export -q -f folded -o ../some.data ../some.data
"$COATI" export -q -f folded -o ../some.data -i - <../some.data
cmp -s ../some.data some.folded && echo "the recording is gone"
"$COATI" export -q -f folded -o nowhere/x ../some.data
for format in folded pprof json otlp perfdata; do
	"$COATI" export -q -f $format -o /dev/full ../some.data 2>err && echo "$format: a full disk is no failure"
	grep -q '/dev/full: .*No space left on device' err || cat err
done
"$COATI" export -q --check -f folded -o /dev/null ../some.data
mkfifo pipe
"$COATI" export -q -f folded -o pipe ../some.data &
cmp pipe some.folded && echo same
wait
"$COATI" export -f pprof -o - ../some.data 2>err | head -c 2 | od -An -tx1
grep -c 'samples in .* bytes of pprof; 0 lost' err
