# each part of the command waits for the report of the one before, without a page fault
command='for i in 1 2 3; do "$0" 500; until [ -e seen$i ]; do :; done; done'
: >out
"$COATI" stat --json -I 50ms -e page-faults -- sh -c "$command" "$HELPERS/touch-pages" >out &
has_lines() { [ "$(wc -l <out)" -ge "$1" ]; }
for i in 1 2 3; do
	wait_until has_lines $i
	: >seen$i
done
wait $!
is_json out
# Differences add up to about the three runs, running totals would add up to far more.
sum=0
for n in $(sed -n 's/.*"event":"page-faults","count":\([0-9]*\).*/\1/p' out); do sum=$((sum + n)); done
total=$("$COATI" stat --json -e page-faults -- sh -c "$command" "$HELPERS/touch-pages" | count_of page-faults)
d=$((sum - total))
[ ${d#-} -lt 200 ] || echo "intervals $sum, whole $total"
sed -n 's/.*"interval":\([0-9]*\),.*/\1/p' out | head -n 3
grep -c '"exit":null' out >n; [ "$(cat n)" = $(($(wc -l <out) - 1)) ] || cat out
