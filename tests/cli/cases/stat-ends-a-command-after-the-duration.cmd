"$COATI" stat -q -d 50ms -e page-faults -- sleep 60
