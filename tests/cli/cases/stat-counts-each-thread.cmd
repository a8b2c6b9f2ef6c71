"$HELPERS/wait-threads" 2 ready &
pid=$!
wait_for ready
"$COATI" stat --json -d 50ms --per-thread -e context-switches -p $pid >out
"$COATI" stat -d 20ms --per-thread -e context-switches -p $pid >text
kill $pid
is_json out
grep -o '"scope":"tid:[0-9]*"' out | sort -u | wc -l
grep -c '"comm":"wait-threads"' out
grep -c '^ tid:[0-9]* wait-threads .* context-switches' text
