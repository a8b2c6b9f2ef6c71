# on, off and both, as report adds them up; a copy of the records gives the same answer again
total()
{
	"$COATI" report --json "$@" | grep -o '"total":[0-9]*' | head -n 1 | cut -d: -f2
}
"$COATI" record -q --off-cpu -o rec.data -- sh -c 'sleep 0.01; sleep 0.02' 2>err || cat err
for mode in on off both; do
	for format in folded pprof json otlp speedscope firefox perfetto chrome; do
		"$COATI" export -q --check --mode $mode -f $format -o out.$format rec.data || echo "$mode as $format: status $?"
	done
	wanted=$(total --mode $mode rec.data)
	got=$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' out.folded)
	[ "$got" = "$wanted" ] || echo "$mode: the lines add up to $got, report says $wanted"
done
"$COATI" export -q --check -f perfdata -o copy.data rec.data || echo "copy: status $?"
[ "$(total --mode off copy.data)" = "$(total --mode off rec.data)" ] || echo "the copy has another time off the CPUs"
"$COATI" export -f perfdata --mode off rec.data || echo "status $?"
