sleep 0.2 &
"$COATI" stat --json -e task-clock -p $! >out && is_json out
grep -c '"scope":"total"' out
