# five hundred requests, of which every fiftieth lies in a queue before a thread takes it
awk 'BEGIN {
	print "batch kind=sites pid=4242"
	print "- site id=1 kind=2 name=\"request\""
	t = 1000000
	for (b = 0; b < 10; b++) {
		events = ""
		begin = t
		for (i = 0; i < 50; i++) {
			id = b * 50 + i + 1
			events = events t " task_begin site=1 id=" id "\n"
			t += i == 7 ? 5000000 : 1000 + (b * 50 + i) * 7 % 500
			events = events t " task_enter id=" id "\n"
			t += 2000 + i * 13 % 50
			events = events t " task_end id=" id "\n" t " task_enter id=0\n"
			t += 1000
		}
		printf "batch tid=4242 generation=1 flags=1 base=%d pair_cycles=%d pair_ns=%d end_cycles=%d end_ns=%d\n%s", begin, begin, begin / 2, t, t / 2, events
	}
	print "batch kind=end flags=1"
}' | "$HELPERS/make-flight" queue.live
"$COATI" autopsy -o queue.data queue.live
"$COATI" why -q request --slow p98 -i queue.data | grep '^request:'
