# each format of every kind of recording, read back: weights of threads and functions are those of the profile
for kind in simple empty one untimed perfclock losses hostile renamed events faults kernel threads; do
	"$CLI/../lib/write-recording" $kind $kind.data || echo "$kind: not written"
	for format in speedscope firefox perfetto chrome; do
		"$COATI" export -q -f $format -i $kind.data --no-compress --check -o out >said 2>&1 || { echo "$kind as $format: status $?"; cat said; }
		[ $format = perfetto ] || "$HELPERS/../json-check" <out || echo "$kind as $format: no JSON"
	done
done
