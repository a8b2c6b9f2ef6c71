# what the compiler put into others is shown, the outermost first
cat >p.cc <<'C'
#include <spin.h>
struct shape {
	volatile long sum = 0;
	__attribute__((always_inline)) inline void innermost(long n) { SPIN(n); }
	__attribute__((always_inline)) inline void middle(long n) { innermost(n); }
};
template <typename T> __attribute__((noinline)) void outer(T &s) { s.middle(120000000); __asm__ volatile(""); }
int main() { shape s; outer(s); return 0; }
C
c++ -O2 -g -o p p.cc
"$COATI" record -q -- ./p
"$COATI" report -q --tree --min 5 | sed -n 's/.*[ ]\(main\|[^ ]*outer.*\|[^ ]*middle.*\|[^ ]*innermost.*\)  p$/\1/p'
echo "linked:"
"$COATI" report -q --tree --min 5 --no-inline | sed -n 's/.*[ ]\(main\|[^ ]*outer.*\|[^ ]*middle.*\|[^ ]*innermost.*\)  p$/\1/p'
