"$COATI" list sched:sched_switch
