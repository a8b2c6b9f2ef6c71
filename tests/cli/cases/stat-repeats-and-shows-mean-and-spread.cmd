"$COATI" stat -q -r 3 -e page-faults -- sh -c "echo ran"
