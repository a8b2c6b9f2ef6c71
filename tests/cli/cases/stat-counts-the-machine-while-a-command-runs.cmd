"$COATI" stat -q -a -e context-switches -- sleep 0.02
