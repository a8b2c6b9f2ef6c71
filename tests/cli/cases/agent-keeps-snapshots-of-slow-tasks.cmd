# One task takes 700 ms: what the flight recorder of its program holds becomes a recording, and the
# histogram of the window has the task. A second one within ten seconds is left out. Two more
# programs have ended by then, one in order: nothing of the first waits for them.
"$HELPERS/served" "" >out &
load=$!
"$HELPERS/served" "" >out.ends &
ends=$!
"$HELPERS/served" "" >out.killed &
killed=$!
wait_until grep -qs serving out
wait_until grep -qs serving out.ends
wait_until grep -qs serving out.killed
"$COATI" agent --store store --print --window 1s --slow-task 'request > 500ms' --slow-task 'nobody > 1ns' --budget 100% >windows 2>said &
agent=$!
wait_until grep -qs sampling said
sleep 1
kill $ends
kill -9 $killed
{ wait $ends; wait $killed; } 2>/dev/null
rm "/dev/shm/coati-$(id -u)/$killed"-*.live
kill -USR1 $load
wait_until grep -qs ' kept ' said
kill -USR1 $load
# its window waits for live events for some seconds
slow_one() { grep -q '"service":"served","type":"request".*"max_ns":[7-9][0-9]\{8\}' windows; }
wait_until slow_one
sleep 2
kill $agent
wait $agent || echo "agent: $?"
kill $load
ls store/kept | sed 's/[0-9T]*Z/TIME/; s/-[0-9]*\.data/-PID.data/'
kept=$(ls store/kept/*.data)
"$COATI" dump -i "$kept" 2>/dev/null | grep -o 'armed.reason=task request took 7[0-9.]* ms.*armed.past=live' | sed 's/7[0-9.]* ms/7.. ms/; s/moment_ns=[0-9]*/moment_ns=N/'
"$COATI" trace --tasks request --json -i "$kept" 2>/dev/null >tasks
python3 - <<'END2'
import json
slowest = max(t["end_ns"] - t["begin_ns"] for t in json.load(open("tasks"))["tasks"])
if not 700e6 <= slowest < 5e9:
    print("the slowest task of the snapshot took", slowest)
END2
