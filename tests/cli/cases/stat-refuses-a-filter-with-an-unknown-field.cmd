"$COATI" stat -e sched:sched_switch --filter "nonsense > 1" -- true
