# a shell that computes, then becomes another program: one process with all of its time, in report, diff and trees
cat >spin.c <<'C'
#include <spin.h>
#include <stdlib.h>
int main(int argc, char **argv) { SPIN(atol(argv[1])); return argc < 0; }
C
cc -O1 -o spin spin.c
cat >script <<'S'
i=0
while [ $i -lt 100000 ]; do i=$((i + 1)); done
exec ./spin 60000000
S
for side in a b; do "$COATI" record -q -o $side.data -- sh script; done
"$COATI" report -q --by process --csv a.data | sed -n 's/^\([a-z]*\),.*/\1/p' | grep -v '^process$'
whole=$("$COATI" report -q --by event --csv a.data | awk -F , 'NR > 1 { sum += $9 } END { printf "%.0f", sum }')
spin=$("$COATI" report -q --by process --csv a.data | awk -F , '$1 == "spin" { sum += $9 } END { printf "%.0f", sum }')
[ "$whole" = "$spin" ] || echo "spin has $spin of $whole"
"$COATI" diff -q --by process --json a.data b.data | grep -o '"process":"[a-z]*"' | sort -u
# what the thread was called when the samples were taken
"$COATI" report -q --by comm --csv a.data | sed -n 's/^\(sh\|spin\),.*/\1/p' | sort
