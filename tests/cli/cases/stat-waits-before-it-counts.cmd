# again when the machine was too busy to begin in time; what counts from the start, or never, does so each time
for try in 1 2 3 4 5; do
	"$COATI" stat --json -D 40ms -e page-faults -- sh -c '"$0" 4000; sleep 0.2; "$0" 100' "$HELPERS/touch-pages" >out && is_json out
	n=$(count_of page-faults <out)
	[ "$n" -ge 100 ] && [ "$n" -lt 4000 ] && exit 0
done
cat out
