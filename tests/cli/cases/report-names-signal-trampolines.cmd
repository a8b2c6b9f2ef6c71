# between a handler and what it interrupted is a frame of libc's that has no symbol
cat >p.c <<'C'
#include <spin.h>
#include <signal.h>
__attribute__((noinline)) static void spin(void) { SPIN(3000000); }
static void handler(int n) { (void)n; spin(); __asm__ volatile(""); }
int main(void) { struct sigaction sa = { .sa_handler = handler }; sigaction(SIGUSR1, &sa, 0); for (int i = 0; i < 100; i++) raise(SIGUSR1); return 0; }
C
for how in -O1 '-O1 -static'; do
	cc $how -o p p.c
	"$COATI" record -q -e cpu-clock:u -- ./p
	"$COATI" export -q -f folded -o - coati.data | awk -v how="$how" '
		/;spin / { all += $NF }
		/;main;.*;__restore_rt;handler;spin / { named += $NF }
		END { print how, (named > 0.9 * all ? "named" : "named in " named " of " all) }'
done
