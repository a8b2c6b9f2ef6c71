"$COATI" stat --json -I 50ms -e page-faults -- sh -c 'for i in 1 2 3; do "$0" 500; sleep 0.06; done' "$HELPERS/touch-pages" >out
is_json out
[ "$(wc -l <out)" -ge 3 ] || cat out
# Differences add up to about the three runs, running totals would add up to far more.
sum=0
for n in $(sed -n 's/.*"event":"page-faults","count":\([0-9]*\).*/\1/p' out); do sum=$((sum + n)); done
total=$("$COATI" stat --json -e page-faults -- sh -c 'for i in 1 2 3; do "$0" 500; sleep 0.06; done' "$HELPERS/touch-pages" | count_of page-faults)
d=$((sum - total))
[ ${d#-} -lt 200 ] || echo "intervals $sum, whole $total"
sed -n 's/.*"interval":\([0-9]*\),.*/\1/p' out | head -n 3
grep -c '"exit":null' out >n; [ "$(cat n)" = $(($(wc -l <out) - 1)) ] || cat out
