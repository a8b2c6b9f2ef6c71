"$COATI" agent --store store --window 300ms --budget 100% 2>said &
agent=$!
wait_until grep -qs sampling said
kill -HUP $agent
wait_until sh -c '[ "$(grep -c sampling said)" = 2 ]'
kill $agent
wait $agent || echo "agent: $?"
ls store/*.data | wc -l
for f in store/*.data; do
	"$COATI" report -i "$f" 2>&1 | grep '^[#c].*\(cut\|truncated:\|still being written\|damaged\)'
	perf report -i "$f" --stdio >/dev/null 2>err || { echo "perf does not read $f"; cat err; }
done
ls store | grep -v '^coati-[0-9T]*Z-[0-9]*\.data$'
true
