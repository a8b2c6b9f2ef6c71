# Two recorders of the same software events: the kernel gives the samples of both the ids of one.
# Each has all samples nevertheless, those of each event in the right number, in files and streams.
mkfifo go
sh -c "read x <go; $HELPERS/touch-pages 700; $HELPERS/touch-pages 90" &
pid=$!
record()
{
	"$COATI" record -q -c 1 -e page-faults:u,context-switches -p $pid -o "$1" 2>"$1.err" >"$1.out" &
	recorder=$!
	tries=0
	# in epoll_pwait2 it waits for its rings: everything is open and enabled
	until grep -q '^441 ' /proc/$recorder/syscall 2>/dev/null || [ $tries -gt 2000 ]; do
		sleep 0.01
		tries=$((tries + 1))
	done
}
record first.data
record -
record last.data
echo >go
wait
mv ./-.out stream.data
for file in first stream last; do
	"$COATI" report -q --json -e page-faults:u -i $file.data | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])' >$file.count
	"$COATI" export -q -f perfdata -o $file.perf.data $file.data
	perf script -i $file.perf.data -F event 2>$file.perf.err | sort | uniq -c >$file.events
	[ ! -s $file.perf.err ] || cat $file.perf.err
done
for file in first last; do
	perf script -i $file.data -F event 2>err | sort | uniq -c | cmp - $file.events
	! grep 'failed to process' err
done
cat ./*.data.err ./-.err
cmp first.count last.count
cmp stream.count last.count
[ "$(cat last.count)" -ge 790 ] || cat last.count
