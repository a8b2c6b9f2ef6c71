count() { "$COATI" stat --json -qo - -e page-faults:u -- "$HELPERS/touch-pages" $1 | count_of page-faults:u; }
# A page may be swapped in or out in between: the best of three is exact.
for try in 1 2 3; do
	some=$(($(count 10) ))
	more=$(($(count 1010)))
	[ $((more - some)) != 1000 ] || exit 0
done
echo "$some, $more"
