"$CLI/../lib/write-recording" losses losses.data
for format in folded perfdata pprof; do
	"$COATI" export -f $format -i losses.data -o "x.$format" --comment 'for you' --no-compress --mangled 2>&1 |
		grep -E 'comment|compress|mangled' || :
done
