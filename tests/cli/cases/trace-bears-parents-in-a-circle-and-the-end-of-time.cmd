# tasks that are their own ancestors, parents that nobody knows, times up to the last that there is: every reader ends, and says what it can
{
	printf '%s\n' 'batch kind=sites pid=4242' '- site id=1 kind=1 name="serve"' '- site id=2 kind=3 name="request"' '- site id=3 kind=3 name="sub"'
	printf '%s\n' 'batch tid=4242 generation=1 flags=4 base=5 capacity=600' \
		'10 task_begin site=2 id=1 parent=2' '11 task_begin site=3 id=2 parent=1' '12 task_begin site=2 id=3 parent=3' \
		'13 task_begin site=3 id=4 parent=18446744073709551615' '20 task_enter id=1' '30 region_begin site=1' \
		'18446744073709551600 region_end' '18446744073709551601 task_enter id=2' '18446744073709551610 task_end id=1' \
		'18446744073709551611 task_end id=2' '18446744073709551615 task_end id=3'
	printf '%s\n' 'batch tid=4243 generation=1 flags=4 base=18446744073709551615 capacity=200' \
		'18446744073709551615 task_begin site=2 id=9 parent=9' '18446744073709551615 task_end id=9'
} | "$HELPERS/make-flight" f.live
"$COATI" autopsy -o f.data f.live
try() {
	timeout 60 "$COATI" "$@" -i f.data >out 2>err
	status=$?
	[ $status -le 1 ] || echo "$*: status $status"
	! grep -e AddressSanitizer -e 'runtime error' out err || echo "$*"
}
for view in "trace --events" "trace --tasks request --slowest 10" "trace --task 1" "trace --task 3" "trace --blame" "trace --check" "trace --json" "trace --events --json" \
	"why request" "why request --json" "report --by task" "report --by region" "report --json" "dump"; do
	try $view
done
for format in perfetto chrome firefox pprof folded speedscope otlp perfdata; do try export -f $format -o x.$format; done
try trace --task 1
grep '^task' out
try trace
grep -e request -e serve out | tr -s ' '
