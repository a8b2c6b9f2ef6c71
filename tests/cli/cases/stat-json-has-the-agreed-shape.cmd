"$COATI" stat --json -e page-faults,task-clock -- sh -c "exit 3"
