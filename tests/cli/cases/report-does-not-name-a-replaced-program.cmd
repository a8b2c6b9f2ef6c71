cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void before(void) { SPIN(80000000); }
int main(void) { before(); return 0; }
C
cc -O1 -Wl,--build-id -o p p.c
"$COATI" record -q --no-pack -- ./p
sed 's/before/after_it/' p.c >q.c
cc -O1 -Wl,--build-id -o p q.c
"$COATI" report -q --csv >out
grep -c -e before -e after_it out
grep -c '^p!\|^\[p' out
