# the program is in a file system that only its own mount namespace has, and that is gone when it ends
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void spin_here(void) { SPIN(80000000); }
__attribute__((noinline)) void caller(void) { spin_here(); __asm__ volatile(""); }
int main(void) { caller(); return 0; }
C
cc -O1 -fomit-frame-pointer -o p p.c
mkdir box
# what is at the path outside is another program
sed s/spin_here/impostor/ p.c >q.c
cc -O1 -o box/inside q.c
"$COATI" record -q -- unshare -m --propagation private sh -c 'mount -t tmpfs none box && cp p box/inside && exec box/inside'
"$COATI" report -q --csv | grep -c '^spin_here,inside,'
"$COATI" report -q --csv | grep -c '^impostor,'
"$COATI" report -q --callers spin_here | grep -c -e ' caller  inside$' -e ' main  inside$'
