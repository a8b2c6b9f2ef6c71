# recordings with known contents: nothing is left to chance
mkdir a b c
"$CLI/../lib/write-recording" --mix a/p a.data parse:750 emit:750
"$CLI/../lib/write-recording" --mix b/p b.data parse:500 emit:1000
"$CLI/../lib/write-recording" --mix c/p c.data parse:750 optimize:1000 emit:750
# phases that are longer or shorter: nobody knows from one recording of each
"$COATI" diff -q a.data b.data >out
echo "status $?"
head -n 1 out
sed -n '/^cannot judge:$/,/^not/s/.* \(parse\|emit\) .*/\1/p' out | sort
"$COATI" diff -q --json a.data b.data >json || is_json json
grep -o '"verdict":"cannot judge","self"' json | sort -u
"$COATI" diff -q --fail-if 'func:emit > +5%' a.data b.data >out
echo "status $?"
sed -n 2p out
# a function that was not there is new, however it lies in time
"$COATI" diff -q a.data c.data >out
echo "status $?"
head -n 1 out
# [LOW, HIGH], or CHANGE ± HALF where that is not outside of what is possible by much
sed -n '/^changed/,/^cannot/p' out | awk '/ optimize / {
	if (match($0, /\[[^]]*\]/)) {
		split(substr($0, RSTART + 1, RLENGTH - 2), at, ", ")
		low = at[1]; high = at[2]
	} else {
		for (i = 2; i < NF && $i != "±"; i++)
			;
		low = $(i - 1) - $(i + 1); high = $(i - 1)
	}
	if (low >= 0 && high <= 100 && high > low)
		print "possible"
}'
"$COATI" diff -q --fail-if 'func:optimize > +5%' a.data c.data >out
echo "status $?"
sed -n 2p out
