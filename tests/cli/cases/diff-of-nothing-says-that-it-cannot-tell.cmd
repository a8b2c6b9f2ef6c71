"$COATI" record -q -e task-clock:u -F 5000 -o a.data -- "$HELPERS/phases" 100 100
for how in '' --json --csv; do
	"$COATI" diff -q a.data a.data --function nobody $how >out || echo "status $?"
	sed -n '/^cannot/p; s/.*\("verdict":"cannot judge: too few\)[^"]*".*/\1/p; /^function,image/s/,.*//p' out
done
"$COATI" diff -q a.data a.data --function nobody --html page.html || echo "status $?"
read_page page.html diff >data && is_json data && echo fine
"$COATI" record -q -e task-clock:u -F 1 -o none.data -- true
"$COATI" diff -q none.data a.data | head -n 1
"$COATI" diff -q none.data none.data --json >json || is_json json && echo fine
