"$COATI" stat -q -e "{page-faults,context-switches,task-clock},cpu-migrations" -- true
