"$COATI" record -q -g none -e page-faults:u -c 1 -o r.data -- "$HELPERS/touch-pages" 20
count()
{
	"$COATI" dump --stats -i r.data "$@" | awk '/SAMPLE$/ { n = $1 } END { print n + 0 }'
}
count -T SAMPLE -n 7
count -p 1
[ "$(count)" -ge 20 ] || echo "only $(count) samples"
