"$COATI" stat -q -I 20ms -e page-faults -- sleep 0.05
