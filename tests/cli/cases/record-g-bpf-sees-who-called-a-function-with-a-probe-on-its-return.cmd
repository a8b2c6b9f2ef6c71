# While such a function runs, its return address on the stack is the kernel's own. Frames that are found in the kernel, and
# those found in a copy of the stack, go on where it will return to: also where each call of a recursion has a probe, and
# where a frame was left by longjmp().
cat >p.c <<'C'
#include <setjmp.h>
#include <spin.h>
static jmp_buf back;
__attribute__((noinline)) void leaf(void) { SPIN(2000000); __asm__ volatile(""); }
__attribute__((noinline)) void away(int n) { if (n) away(n - 1); else longjmp(back, 1); __asm__ volatile(""); }
__attribute__((noinline)) void inner(int n) { if (n) inner(n - 1); else leaf(); __asm__ volatile(""); }
__attribute__((noinline)) void plain(int n) { if (n) plain(n - 1); else leaf(); __asm__ volatile(""); }
__attribute__((noinline)) void outer(void) { inner(3); __asm__ volatile(""); }
int main(void)
{
	for (int i = 0; i < 150; i++) {
		if (!setjmp(back)) away(5);
		outer();
		plain(3);
	}
	return 0;
}
C
cc -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -o p p.c
for verify in "" "--verify 1"; do
	# shellcheck disable=SC2086 # options are words
	"$COATI" record -g bpf $verify -e cpu-clock -e uretprobe:./p:inner -e uretprobe:./p:leaf -e uretprobe:./p:away -- ./p 2>&1 | grep verify
	"$COATI" export -q -f folded --event cpu-clock -o - | awk '
		/;leaf/ { all += $NF }
		/;main;outer;inner;inner;inner;inner;leaf/ || /;main;plain;plain;plain;plain;leaf/ { whole += $NF }
		/away.*;(inner|plain|leaf)/ { print "wrong: " $0 }
		END { print (all > 100e6 && whole > 0.97 * all ? "whole" : whole " of " all) }'
done
