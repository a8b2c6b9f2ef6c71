"$COATI" record -q -e task-clock:u -F 5000 -o a.data -- "$HELPERS/phases" 300 100
"$COATI" record -q -e task-clock:u -F 5000 -o b.data -- "$HELPERS/phases" 300 600
"$COATI" diff a.data b.data | head -n 1
"$COATI" diff b.data a.data | head -n 1
"$COATI" diff a.data b.data --json >json && is_json json
grep -o '"schema":"[a-z0-9.]*"' json
grep -o '"function":"target","image":"phases","verdict":"[a-z]*"' json
"$COATI" diff -q a.data b.data --csv >csv
head -n 1 csv
grep -c '^target,phases,more,0' csv
