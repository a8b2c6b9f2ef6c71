# Every stack is compared to its root: below a function that has no unwind data, and below an array of which nothing was
# written yet, where the stack pointer is on a page that is not present and the copy of the stack begins above it.
cat >p.c <<'C'
#include <spin.h>
__asm__(".text\n.globl bare\n.type bare, @function\n"
	"bare: push %rbp\n mov %rsp, %rbp\n call *%rdi\n pop %rbp\n ret\n.size bare, . - bare\n");
void bare(void (*call)(void));
__attribute__((noinline)) void leaf(void) { SPIN(160000000); }
__attribute__((noinline)) void hollow(void) { volatile char array[48 << 10]; array[sizeof(array) - 1] = 1; SPIN(160000000); }
int main(void) { hollow(); bare(leaf); return 0; }
C
cc -O1 -fomit-frame-pointer -fno-stack-clash-protection -o p p.c
"$COATI" record -g bpf --verify 1 -- ./p 2>&1 | grep verify
"$COATI" export -q -f folded -o - | awk '
	/;leaf/ { leaf += $NF } /main;bare;leaf/ { bare += $NF } /hollow/ { all += $NF } /main;hollow/ { hollow += $NF }
	END { print (leaf > 50e6 && bare > 0.97 * leaf && all > 50e6 && hollow > 0.97 * all ? "whole" : bare " of " leaf ", " hollow " of " all) }'
