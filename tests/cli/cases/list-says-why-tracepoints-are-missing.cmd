"$CLI/../../scripts/apart" sh -c 'mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug; "$COATI" list sched:sched_switch'
