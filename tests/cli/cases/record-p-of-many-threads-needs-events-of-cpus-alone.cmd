# 1,000 threads: a few events for each CPU, whose samples are those of the process and of the child that it starts meanwhile, not of one that it
# had before, nor of anybody else; and the recording ends with the process
cat >many.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static void work(double seconds)
{
	struct timespec t;
	do { for (int i = 0; i < 10000; i++) sink += i; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); } while (t.tv_sec + t.tv_nsec / 1e9 < seconds);
}
static void *nap(void *n) { for (;;) pause(); return n; }
int main(void)
{
	pthread_attr_t a;
	pthread_t t;
	sigset_t go;
	int unused;
	sigemptyset(&go);
	sigaddset(&go, SIGUSR1);
	sigprocmask(SIG_BLOCK, &go, NULL);
	if (!fork()) { prctl(PR_SET_PDEATHSIG, SIGKILL); work(1000); }
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (int i = 0; i < 1000; i++) if (pthread_create(&t, &a, nap, 0)) return 1;
	puts("ready");
	fflush(stdout);
	sigwait(&go, &unused);
	work(0.2);
	pid_t child = fork();
	if (!child) { work(0.2); _exit(0); }
	printf("%d\n", child);
	fflush(stdout);
	waitpid(child, &unused, 0);
	return 0;
}
C
cc -O1 -pthread -o many many.c
./many >told &
pid=$!
wait_until grep -qs ready told
"$COATI" record -q -p $pid -o m.data &
recorder=$!
waits() { grep -q '^441 ' "/proc/$1/syscall"; } # in epoll_pwait2: everything is open and enabled
wait_until waits $recorder
events=$(find /proc/$recorder/fd -lname '*perf_event*' | wc -l)
[ "$events" -le $((8 * $(nproc --all))) ] || echo "$events events"
kill -USR1 $pid
wait $pid
wait $recorder || echo "status $?"
"$COATI" report -q -i m.data --by process --json >m.json
python3 - $pid "$(sed -n 2p told)" <<'PY'
import json, sys
j = json.load(open("m.json"))
n = {r["pid"]: r["samples"] if "samples" in r else r["self_samples"] for r in j["rows"]}
want = [int(x) for x in sys.argv[1:]]
# -1: threads that are so far in their exit that the kernel has taken their numbers away
if set(n) - {-1} != set(want) or min(n[p] for p in want) < 50 or sum(n.values()) != j["quality"]["samples"]:
    print("samples by process:", n, "of", want)
PY
