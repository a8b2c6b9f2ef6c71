"$COATI" stat -q -r 2 -o /dev/null -e page-faults -- sh -c "exit 5"
