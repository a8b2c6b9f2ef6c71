# The trace around a function that took too long (probes at its entry and its return) has the program's
# tasks, also the one that was slow, and stacks up to main() of a program without frame pointers.
"$HELPERS/served" "" >out &
load=$!
wait_until grep -qs serving out
"$COATI" agent --store store --window 500ms --when "latency.p100($HELPERS/served:stalled_call) > 400ms" --keep 3s --memory 256M --budget 100% 2>said &
agent=$!
wait_until grep -qs sampling said
sleep 3
kill -USR1 $load
wait_until grep -qs ' kept ' said
kill $agent
wait $agent || echo "agent: $?"
kill $load
kept=$(ls store/kept/*.data)
"$COATI" dump -i "$kept" 2>/dev/null | grep -q 'armed.reason=latency.p100(.*served:stalled_call) > 400ms ([0-9.]* ms)' || echo "it does not say why"
"$COATI" trace --tasks request --json -i "$kept" 2>/dev/null >tasks
is_json tasks || echo "no tasks"
"$COATI" report --json -i "$kept" --mode on -p served --limit 0 2>/dev/null >report
"$COATI" export -q -f folded --mode off -p served -i "$kept" -o - >off
python3 - <<'END2'
import json
d = json.load(open("tasks"))
slowest = max(t["end_ns"] - t["begin_ns"] for t in d["tasks"])
if d["count"] < 20:
    print("tasks:", d["count"])
elif not 700e6 <= slowest < 5e9:
    print("the slow one is missing, or open:", slowest)
def total(name, function):
    return sum(x["total"] for x in json.load(open(name))["rows"] if x["function"] == function)
work, main = total("report", "busy_work"), total("report", "main")
if not 0 < work <= main:
    print("busy_work has", work, "of", main, "ns of main")
# the stall may begin before the trace does; the probe on its return hides who called it from all but the kernel
stalls = [line.rsplit(" ", 1) for line in open("off") if ";stalled_call;" in line]
stall, lost = (sum(int(n) for s, n in stalls if (";main;" in s) == known) for known in (True, False))
if not 400e6 <= stall or lost > 0.01 * stall:
    print("stalled_call has", stall, "ns below main, and", lost, "elsewhere")
END2
