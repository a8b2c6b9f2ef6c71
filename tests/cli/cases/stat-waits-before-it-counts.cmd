# by chance: on a busy machine the first pages are touched late, or the count begins late; wrong:
# what counts from the start, or never, does so in each try
waits()
{
	"$COATI" stat --json -D 200ms -e page-faults -- sh -c '"$0" 4000; sleep 1; "$0" 100' "$HELPERS/touch-pages" >out && is_json out
	n=$(count_of page-faults <out)
	{ [ "$n" -ge 100 ] && [ "$n" -lt 4000 ]; } || cat out
}
judge 5 2 waits
