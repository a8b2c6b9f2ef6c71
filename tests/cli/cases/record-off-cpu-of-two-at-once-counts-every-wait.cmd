# Two processes hand a byte back and forth on one CPU; the kernel counts how often the first one left the CPU. Both recorders know of each
# time, and where it was: with the stack walker, and without the right to load it (then copies and frame pointers take turns).
cat >hand.c <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
static void hand(int from, int to, int n) { char c = 0; while (n-- && write(to, &c, 1) == 1 && read(from, &c, 1) == 1) ; }
static long waits(void) { struct rusage u; getrusage(RUSAGE_THREAD, &u); return u.ru_nvcsw + u.ru_nivcsw; }
int main(int argc, char **argv)
{
	int a[2], b[2], n = atoi(argv[1]), unused;
	cpu_set_t one;
	sigset_t go;
	long before;
	sched_getaffinity(0, sizeof(one), &one);
	for (int i = 0, seen = 0; i < CPU_SETSIZE; i++) if (CPU_ISSET(i, &one) && seen++) CPU_CLR(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	if (argc < 2 || pipe(a) < 0 || pipe(b) < 0) return 1;
	if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); hand(a[0], b[1], n); pause(); }
	puts("ready");
	fflush(stdout);
	sigwait(&go, &unused);
	before = waits();
	hand(b[0], a[1], n);
	printf("%ld\n", waits() - before);
	fflush(stdout);
	return sigwait(&go, &unused);
}
C
cc -O1 -o hand hand.c
no_bpf="setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin"
waits() { grep -q '^441 ' "/proc/$1/syscall"; } # in epoll_pwait2: everything is open and enabled
for how in "" "$no_bpf"; do
	: >told
	./hand 5000 >told &
	pid=$!
	wait_until grep -qs ready told
	$how "$COATI" record -q --off-cpu -p $pid -o first.data &
	first=$!
	$how "$COATI" record -q --off-cpu -p $pid -o second.data &
	second=$!
	wait_until waits $first
	wait_until waits $second
	kill -USR1 $pid
	wait_until grep -qs '^[0-9]' told
	kill -TERM $first $second
	wait $first || echo "the first ended with $?"
	wait $second || echo "the second ended with $?"
	kill -USR1 $pid
	wait $pid
	for file in first.data second.data; do
		"$COATI" report -q --mode off --json $file >json
		python3 - "$file $how" <<'P'
import json, sys
j = json.load(open("json"))
off = j["quality"]["off_cpu"]
told = int(open("told").read().split()[1])
seen = sum(r["self_samples"] for r in j["rows"] if r["function"] != "[runnable]" and "sigtimedwait" not in r["function"])
wrong = {k: off[k] for k in ("no_stack", "unpaired") if off[k]} | {k: v for k, v in j["quality"].items() if k in ("no_event", "damaged") and v}
# it may lose the CPU right before or behind a look at the counters, too
print(sys.argv[1], seen, "times of", told, wrong) if not told <= seen <= told + 2 or told < 1000 or wrong else None
P
	done
done
