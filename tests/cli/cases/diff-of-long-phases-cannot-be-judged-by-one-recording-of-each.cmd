cat >p.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void parse(long n) { for (volatile long i = 0; i < n; i++); }
__attribute__((noinline)) void optimize(long n) { for (volatile long i = 0; i < n; i++); }
__attribute__((noinline)) void emit(long n) { for (volatile long i = 0; i < n; i++); }
int main(int argc, char **argv)
{
	parse(atol(argv[1]) * 1000000);
	if (argc > 3)
		optimize(atol(argv[3]) * 1000000);
	emit(atol(argv[2]) * 1000000);
	return 0;
}
C
cc -O1 -o p p.c
"$COATI" record -q -e task-clock:u -F 5000 -o a.data -- ./p 150 150
"$COATI" record -q -e task-clock:u -F 5000 -o b.data -- ./p 100 200
"$COATI" record -q -e task-clock:u -F 5000 -o c.data -- ./p 150 150 200
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
