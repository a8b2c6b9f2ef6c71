cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void spin_here(void) { SPIN(80000000); }
int main(void) { spin_here(); return 0; }
C
cc -O1 -g -o p p.c
"$COATI" record -q -o packed.data -- ./p
"$COATI" record -q --no-pack -o bare.data -- ./p
rm p p.c
"$COATI" report -q --no-local packed.data --csv | grep -c '^spin_here,p,'
"$COATI" report -q packed.data --by line --csv | grep -c '/p.c:2'
"$COATI" report -q --no-local bare.data --csv | grep -c '^spin_here,p,'
true
