# one that keeps the first events: what is there and what was lost are all, to the event
sh -c 'ulimit -c 0; "$HELPERS/crowd" rec alone; :' >emitted 2>/dev/null
"$COATI" autopsy --json rec/*.live >out
lost=$(grep -o '"quality":{[^}]*' out | grep -o '"lost":[0-9]*' | cut -d: -f2)
"$COATI" autopsy -o s.data rec/*.live 2>/dev/null
"$COATI" trace --events -i s.data >out
events=$(grep -c -e ' instant ' -e ' log ' out)
grep -c " $lost live events lost" out
echo "$((events + lost - $(cat emitted))) too many"
[ "$events" -gt 50000 ] && [ "$lost" -gt 1000000 ] || echo "$events events, $lost lost"
