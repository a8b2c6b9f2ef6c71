# shellcheck disable=SC2016 # for the shell inside
"$CLI/../../scripts/apart" sh -c '
	. "$CLI/prelude.sh"
	perf_reads -e raw_syscalls:sys_enter -g none ls /
	perf_reads -e raw_syscalls:sys_enter,sched:sched_switch,cpu-clock -a ls /
	perf_reads -e raw_syscalls:sys_exit --filter "ret < 0" -g fp ls /
	perf_reads -e "{sched:sched_switch,cpu-clock}" -a -z ls /
	"$COATI" record -q -o - -e raw_syscalls:sys_enter ls / 2>/dev/null | perf script -i - >out 2>err || echo "perf: $?"
	cat err
	grep -q "raw_syscalls:sys_enter: NR" out || head -n 5 out
'
