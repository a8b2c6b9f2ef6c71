# what is printed, of recordings with known contents
"$CLI/../lib/write-recording" --mix phases a.data target:300,parse:750,sort:450
"$CLI/../lib/write-recording" --mix phases b.data target:900,parse:375,sort:225
"$COATI" diff a.data b.data | head -n 1
"$COATI" diff b.data a.data | head -n 1
"$COATI" diff a.data b.data --json >json && is_json json
grep -o '"schema":"[a-z0-9.]*"' json
grep -o '"function":"target","image":"phases","verdict":"[a-z]*"' json
"$COATI" diff -q a.data b.data --csv >csv
head -n 1 csv
grep -c '^target,phases,more,0' csv
# Recorded: six times the work in target, some 1,500 samples a recording. A try is off where it is not found, or found in a recording
# compared with itself. That is so in less than 1 % of the tries (0 of 300 beside a busy machine): a false alarm in 100,000 runs at most.
# A diff that does not find it is off in every try.
try()
{
	"$COATI" record -q -e task-clock:u -F 5000 -o c.data -- "$HELPERS/phases" 300 100
	"$COATI" record -q -e task-clock:u -F 5000 -o d.data -- "$HELPERS/phases" 300 600
	"$COATI" diff -q --json c.data d.data >json
	grep -q '"function":"target","image":"phases","verdict":"more"' json || echo "not found"
	"$COATI" diff -q --json c.data c.data >json
	grep -q '"more":0,"less":0' json || echo "a recording differs from itself"
}
judge 5 2 try
