# clock_gettime of libc calls the kernel's own page: both are in the stack, and the program below them
cat >p.c <<'C'
#include <time.h>
__attribute__((noinline)) void ask(void) { struct timespec t; for (long i = 0; i < 8000000; i++) clock_gettime(CLOCK_MONOTONIC, &t); }
int main(void) { ask(); __asm__ volatile(""); return 0; }
C
cc -O1 -fomit-frame-pointer -o p p.c
"$COATI" record -q -- ./p
# "__vdso_clock_gettime" or what it has put aside
"$COATI" report -q --csv | sed -n 's/^\([^,]*\),\[vdso\],.*/\1/p' >names
[ -s names ] || echo "nothing is in the vDSO"
grep -c -e '\[unknown\]' -e '^0x' names
"$COATI" report -q --image '[[]vdso]' --tree --min 5 | grep -o -e ' main  p$' -e ' ask  p$' | sort -u
