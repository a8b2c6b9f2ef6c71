# Two recorders of the machine, and BPF programs that are loaded meanwhile: the kernel makes the records of these longer than they are for
# the second one. Both have all of them, at their times, and no record without an event.
"$COATI" record -q -a --no-pack -g none -e cpu-clock -F 99 -o first.data &
first=$!
"$COATI" record -q -a --no-pack -g none -e cpu-clock -F 99 -o second.data &
second=$!
waits() { grep -q '^441 ' "/proc/$1/syscall"; } # in epoll_pwait2: everything is open and enabled
wait_until waits $first
wait_until waits $second
now() { python3 -c 'import time; print(time.monotonic_ns())'; }
before=$(now)
"$COATI" record -q -g bpf -o third.data -- true
after=$(now)
kill -TERM $first $second
wait $first || echo "the first ended with $?"
wait $second || echo "the second ended with $?"
for file in first second; do
	"$COATI" report -q --json $file.data | grep -o '"\(no_event\|damaged\)":[1-9][0-9]*' | sed "s/^/$file: /"
	"$COATI" dump -i $file.data --json -T KSYMBOL >$file
done
python3 - "$before" "$after" <<'P'
import json, sys
before, after = map(int, sys.argv[1:])
def read(path):
    every, meanwhile = set(), set()
    for r in map(json.loads, open(path)): # those of programs that were there before have no time
        if r.get("time_ns") and r["name"].startswith("bpf_prog_") and not r.get("flags"):
            every.add((r["name"], r["addr"]))
            if before < r["time_ns"] < after:
                meanwhile.add((r["name"], r["addr"]))
    return every, meanwhile
(all_1, new_1), (all_2, new_2) = read("first"), read("second")
if not any(name.endswith("_on_sample") for name, _ in new_1 & new_2) or new_1 - all_2 or new_2 - all_1:
    print("the first has", len(new_1), "symbols and the second", len(new_2), "not in both:", sorted((new_1 - all_2) | (new_2 - all_1))[:3])
P
