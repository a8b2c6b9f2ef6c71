"$COATI" stat --csv -e page-faults,task-clock -- true
