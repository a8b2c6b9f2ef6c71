# 270 of 300 threads by their numbers: events of CPUs and a filter in the kernel. Each of them touches 4 pages, and so do a thread, a process and an orphan
# that three of them start: a sample for each page, and none of another thread. The recorder ends with the threads, not with their process.
waits() { grep -q '^441 ' "/proc/$1/syscall"; } # in epoll_pwait2: everything is open and enabled
herd()
{
	rm -f meant go r.data
	"$HELPERS/herd" 270 30 4 &
	pid=$!
	wait_for meant
	"$COATI" record -q "$@" -t "$(cat meant)" -o r.data &
	recorder=$!
	wait_until waits "$recorder"
	events=$(find "/proc/$recorder/fd" -lname '*perf_event*' | wc -l)
	[ "$events" -le $((8 * $(nproc --all))) ] || echo "$events events"
	touch go
	wait "$recorder" || echo "status $?"
	kill "$pid"
	wait "$pid" 2>kill.err
	"$COATI" dump --json -i r.data >r.json
}
faults()
{
	python3 - <<'PY'
import collections, json
low, high = map(int, open("pages").read().split())
meant = {int(t) for t in open("meant").read().split(",")}
by = collections.Counter(r["tid"] for r in map(json.loads, open("r.json")) if r.get("event") == "page-faults" and low <= int(r["addr"], 0) < high)
print("meant", len(meant & by.keys()), "each", *{by[t] for t in meant}, "children", *(n for t, n in by.items() if t not in meant))
PY
}
herd -e page-faults -c 1
faults
herd --no-inherit -e page-faults -c 1
faults
# context switches: a stack for each, and one for each thread that sleeps when the recording begins; four others start meanwhile
herd --off-cpu
python3 - <<'PY'
import collections, json
meant = {int(t) for t in open("meant").read().split(",")}
left, stacks = collections.Counter(), collections.Counter()
for r in map(json.loads, open("r.json")):
    if r.get("tid", 0) >> 22: # so far in its exit that the kernel has taken its number away
        continue
    if r["type"] == "SWITCH":
        left[r["tid"]] += r["direction"] == "out"
    if r.get("event") == "off-cpu":
        stacks[r["tid"]] += 1
    if r["type"] == "SWITCH_CPU_WIDE":
        print("a switch of a CPU")
print("meant", len(meant & left.keys()), "others", len(left.keys() - meant), "at least", min(3, *(left[t] for t in meant)), "each")
# a process that ends may lose its number to its parent between its last stack and its last switch
wrong = {t: (left[t], stacks[t]) for t in left.keys() | stacks.keys() if stacks[t] - left[t] not in ({1} if t in meant else {0, 1})}
print("switches and stacks:", wrong) if wrong else None
PY
