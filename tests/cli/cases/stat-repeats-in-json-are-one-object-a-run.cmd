"$COATI" stat --json -r 3 -e page-faults -- true >out && is_json out
grep -c '"run":[123],' out
grep -c '"repeats":{"runs":3,' out
tail -n 1 out | grep -c '"repeats"' 
