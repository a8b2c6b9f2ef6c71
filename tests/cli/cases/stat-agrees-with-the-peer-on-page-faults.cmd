# by chance: random addresses make a difference of more than two faults; wrong: three faults more or
# less, in each try
agree()
{
	ours=$("$COATI" stat --json -qo - -e page-faults -- "$HELPERS/touch-pages" 2000 | count_of page-faults)
	theirs=$(perf stat -x, -e page-faults -- "$HELPERS/touch-pages" 2000 2>&1 | sed -n 's/^\([0-9]*\),.*page-faults.*/\1/p')
	d=$((ours - theirs))
	[ ${d#-} -le 2 ] || echo "ours $ours, theirs $theirs"
}
judge 5 2 agree
