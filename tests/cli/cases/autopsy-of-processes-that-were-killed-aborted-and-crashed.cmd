for signal in 9 6 11; do
	# a shell of its own says on its stderr how it died
	sh -c 'ulimit -c 0; "$HELPERS/fly" rec "$1"; :' sh "$signal" >/dev/null 2>&1
	"$COATI" autopsy --directory rec -n 2 "$(cat pid)" | grep -E '^fly|^thread|works on|  in |value=99|text=|open task'
	rm -r rec
done
