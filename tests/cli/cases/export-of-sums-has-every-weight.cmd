# each format of every kind of recording, read back: weights of threads and functions are those of the profile
lib=$CLI/../lib
for kind in simple empty one untimed perfclock losses hostile renamed events faults kernel threads; do
	"$lib/write-recording" $kind $kind.data || echo "$kind: not written"
	for format in pprof folded otlp json perfdata; do
		"$COATI" export -q -f $format -i $kind.data --check -o out.$format >said 2>&1 || { echo "$kind as $format: status $?"; cat said; }
	done
	"$HELPERS/../json-check" <out.json || echo "$kind: no JSON"
	COATI_TOOL=$COATI "$lib/read-pprof" out.pprof >totals && COATI_TOOL=$COATI "$lib/compare-totals" totals $kind.data >said || { echo "$kind as pprof:"; cat said; }
	# as flamegraph.pl takes a line: a second number behind the stack would make it a difference
	python3 - out.folded $kind <<'PY'
import re, sys
for line in open(sys.argv[1], "rb").read().split(b"\n")[:-1]:
    m = re.fullmatch(rb"(.*) ([0-9]+)", line, re.S)
    if not m or re.search(rb"\s+(\d+(?:\.\d*)?)$", m[1]) or b";;" in line or b"\r" in line:
        print(sys.argv[2], "as folded: a line that readers take for something else:", line[:100])
PY
done
