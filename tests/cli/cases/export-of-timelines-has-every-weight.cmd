# each format of every kind of recording, read back: weights of threads and functions are those of the profile
"$CLI/../lib/write-recording" all || echo "not written"
for recording in *.data; do
	for format in speedscope firefox perfetto chrome; do
		"$COATI" export -q -f $format -i "$recording" --no-compress --check -o out >said 2>&1 || { echo "$recording as $format: status $?"; cat said; }
		[ $format = perfetto ] || "$HELPERS/../json-check" <out || echo "$recording as $format: no JSON"
	done
done
