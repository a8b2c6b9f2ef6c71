# A page may be taken away and come back: the least of several runs is exact.
least()
{
	for try in 1 2 3 4 5 6 7 8 9 10; do
		"$COATI" stat --json -qo - -e page-faults:u -- "$HELPERS/touch-pages" "$1" | count_of page-faults:u
	done | sort -n | head -n 1
}
some=$(least 10)
more=$(least 1010)
[ $((more - some)) = 1000 ] || echo "$some, $more"
