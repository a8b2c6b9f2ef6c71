# whatever policy the stream beside it has, the flight recorder keeps the last rounds
for policy in 0 1 2; do
	sh -c 'ulimit -c 0; "$HELPERS/crowd" rec "$1"; :' sh "$policy" >emitted 2>/dev/null
	"$COATI" autopsy rec/*.live | grep -c -e 'text="round 29."' -e 'text="the last words"'
	rm -r rec
done
