for try in 1 2 3 4 5; do
	ours=$("$COATI" stat --json -qo - -e page-faults -- "$HELPERS/touch-pages" 2000 | count_of page-faults)
	theirs=$(perf stat -x, -e page-faults -- "$HELPERS/touch-pages" 2000 2>&1 | sed -n 's/^\([0-9]*\),.*page-faults.*/\1/p')
	d=$((ours - theirs))
	[ ${d#-} -gt 2 ] || exit 0
done
echo "ours $ours, theirs $theirs"
