# A load of known CPU time on a machine that is idle otherwise. CPUs that are idle have no samples; a
# window has no more than its length on each CPU and one sample; and the load has its CPU time.
#
# Its samples are at most 10 % off: 2,000 of them are, by chance, once in far more than 100,000 tries.
# a name that nobody else has: the agent sees the whole machine
name=phases-$$ && cp "$HELPERS/phases" "$name" && export name
"$COATI" agent -q --store store --print --window 500ms -F 999 -g fp --budget 100% >windows &
agent=$!
wait_until sh -c 'ls store/*.data >/dev/null 2>&1'
python3 -c 'import os, sys
os.execv(sys.argv[1], sys.argv[1:]) if os.fork() == 0 else print(os.wait4(-1, 0)[2].ru_utime)' "./$name" 2000 100 >used
kill $agent
wait $agent || echo "agent: $?"
"$COATI" dump -i "$(ls store/*.data | head -n 1)" 2>/dev/null | grep -c 'SAMPLE cpu-clock.* swapper' | grep -vx 0
python3 - <<'END2'
import json
import os
windows = [json.loads(l) for l in open("windows")]
period = None
for w in windows:
    total = sum(e["weight"] for e in w["events"])
    samples = sum(e["samples"] for e in w["events"])
    if total != sum(s["weight"] for s in w["services"]):
        print("services of a window do not add up:", w)
    if samples:
        period = total // samples
        if period * samples != total:
            print("a sample stands for something else than the others:", w)
        if total > w["quality"]["cpus"] * (w["end_ns"] - w["start_ns"] + period):
            print("more time than the window has:", w)
mine = sum(s["weight"] for w in windows for s in w["services"] if s["name"] == os.environ["name"]) / 1e9
used = float(open("used").read())
if not 0.9 * used <= mine <= 1.1 * used:
    print("used", used, "s, sampled", mine, "s")
END2
