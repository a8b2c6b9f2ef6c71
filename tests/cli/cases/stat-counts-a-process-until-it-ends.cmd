sh -c 'until [ -e end ]; do sleep 0.02; done' &
"$COATI" stat --json -e task-clock -p $! >out &
wait_until counts_in $!
: >end
wait $! && is_json out
grep -c '"scope":"total"' out
