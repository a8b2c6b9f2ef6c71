"$COATI" stat -qj -o out -r 9 -e page-faults -- sh -c '[ -e ran ] || exec touch ran; kill -TERM $PPID; exec sleep 10'
echo "$?"
grep -c . out
grep -o '"repeats":{"runs":[0-9]*' out
