# Two recorders of one pair of processes that hand a byte back and forth: the kernel gives the switches of both the IDs of one. Each knows
# where its threads waited all the same, with the stack walker and without the right to load it (then copies of stacks and frame
# pointers take turns); also beside perf, with switches and with a twin of the event.
cat >ping.c <<'C'
#include <stdio.h>
#include <unistd.h>
static void hand(int from, int to) { char c = 0; while (write(to, &c, 1) == 1 && read(from, &c, 1) == 1) ; }
int main(void)
{
	int a[2], b[2];
	if (pipe(a) < 0 || pipe(b) < 0) return 1;
	if (!fork()) { close(a[1]); close(b[0]); hand(a[0], b[1]); _exit(0); }
	close(a[0]); close(b[1]);
	hand(b[0], a[1]);
}
C
cc -O1 -o ping ping.c
./ping &
pid=$!
child_is_there() { child=$(cat /proc/$pid/task/$pid/children) && [ -n "$child" ]; }
wait_until child_is_there
child=${child% }
pids=$pid,$child
waits() { grep -q '^441 ' "/proc/$1/syscall"; } # in epoll_pwait2: everything is open and enabled
# 3,000 switches of the first recorder while the second one is there, too
switched() { [ $(($(sed -n 's/^voluntary_ctxt_switches:\t//p' "/proc/$pid/status") - $1)) -ge 3000 ]; }
no_bpf="setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin"
beside() { # COMMAND...: the recording first.data beside it; the processes begin when both recorders are there
	kill -STOP $pid $child
	$how "$COATI" record --off-cpu -p "$pids" -o first.data 2>err &
	first=$!
	wait_until waits $first
	$how "$@" >/dev/null 2>&1 &
	second=$!
	case $1 in perf) wait_until counts_in $second ;; *) wait_until waits $second ;; esac
	kill -CONT $pid $child
	wait_until switched "$(sed -n 's/^voluntary_ctxt_switches:\t//p' /proc/$pid/status)"
	kill -TERM $first $second
	wait $first $second 2>/dev/null
	! grep 'id of another' err
}
check() { # FILE
	"$COATI" report -q --mode off --json "$1" >json
	python3 - "$1" <<'P'
import json, sys
q = json.load(open("json"))["quality"]
off = q["off_cpu"]
if q["no_event"] or q["damaged"]:
    print(sys.argv[1], q["no_event"], "samples of no event,", q["damaged"], "damaged")
if off["intervals"] < 1000:
    print(sys.argv[1], "has", off["intervals"], "intervals")
# those whose beginning was not seen have none
if off["no_stack"] * 100 > off["intervals"]:
    print(sys.argv[1], off["no_stack"], "of", off["intervals"], "without a stack")
P
}
for how in "" "$no_bpf"; do
	beside "$COATI" record --off-cpu -p "$pids" -o second.data
	check first.data
	check second.data
done
beside perf record -q --switch-events -e cpu-clock -p "$pids" -o p.data
check first.data
beside perf record -q -g -e context-switches -c 1 -p "$pids" -o p.data
check first.data
kill $pid
