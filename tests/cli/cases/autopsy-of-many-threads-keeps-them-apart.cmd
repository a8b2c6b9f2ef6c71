# 60 threads, the last one first: each has its region and its task
{
	printf 'batch kind=sites pid=4242\n- site id=1 kind=1 name="in"\n- site id=2 kind=3 name="job"\n'
	for i in $(seq 60 -1 1); do
		printf 'batch tid=%d generation=1 flags=0 base=1000 pair_cycles=1000 pair_ns=5000 capacity=200\n' "$i"
		printf '%d task_begin site=2 id=%d parent=%d\n%d task_enter id=%d\n%d region_begin site=1\n' $((1000 + i)) "$i" $((i - 1)) $((1000 + i)) "$i" $((1000 + i))
	done
} | "$HELPERS/make-flight" many.live
"$COATI" autopsy many.live >out
grep -c '^thread' out
grep '^thread' out | sort -C -k2n && echo in order
grep -A3 -E '^thread (1|37|60):' out
"$COATI" autopsy --json many.live | tr '{' '\n' | grep -c '"depth":0'
