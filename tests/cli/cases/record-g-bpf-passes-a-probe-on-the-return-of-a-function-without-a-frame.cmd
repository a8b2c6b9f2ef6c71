# The return address of such a function is on top of the stack all the time that it runs, and is the kernel's own. Most of
# its time is in page faults; in those it was once taken for a function that was entered only just now.
cat >p.c <<'C'
#include <sys/mman.h>
#define PAGES 16384L
__attribute__((noinline)) void touch(volatile char *p, long n) { for (long i = 0; i < n; i++) p[i << 12] = 1; }
__attribute__((noinline)) void outer(volatile char *p) { touch(p, PAGES); __asm__ volatile(""); }
int main(void)
{
	char *p = mmap(0, PAGES << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || madvise(p, PAGES << 12, MADV_NOHUGEPAGE)) return 1;
	for (int i = 0; i < 20; i++) {
		outer(p);
		madvise(p, PAGES << 12, MADV_DONTNEED);
	}
	return 0;
}
C
cc -O1 -fomit-frame-pointer -o p p.c
"$COATI" record -q -g bpf -e cpu-clock -e uretprobe:./p:touch -- ./p
"$COATI" export -q -f folded --event cpu-clock -o - | awk '
	/;touch/ { all += $NF } /;main;outer;touch/ { whole += $NF } /touch.*_\[k\]/ { kernel += $NF }
	END { print (kernel > 50e6 && whole > 0.97 * all ? "whole" : whole " of " all ", in the kernel " kernel) }'
