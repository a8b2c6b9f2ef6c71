# A budget that nothing keeps to: the rate is halved again and again. Every window says its rate, its
# samples stand for the time that this rate means (the period is off by up to 1/16), and those of the
# load are no more than the CPU time that it used, but for five deviations: 3e-7 by chance. (They may be
# less: nothing is sampled while the rate is changed.)
# a name that nobody else has: the agent sees the whole machine
name=phases-$$ && cp "$HELPERS/phases" "$name" && export name
"$COATI" agent -q --print --window 100ms -F 1999 -g fp --budget 0.001% >windows &
agent=$!
has_lower() { grep -q '"rate_millihertz":[0-4]' windows; }
python3 -c 'import os, sys
os.execv(sys.argv[1], sys.argv[1:]) if os.fork() == 0 else print(os.wait4(-1, 0)[2].ru_utime)' "./$name" 1500 100 >used
wait_until has_lower
kill $agent
wait $agent || echo "agent: $?"
python3 - <<'END2'
import json
import os
windows = [json.loads(l) for l in open("windows")]
rates = []
spread = 0
for w in windows:
    q = w["quality"]
    rate = q["rate_millihertz"] / 1000
    rates.append(rate)
    samples = sum(e["samples"] for e in w["events"])
    weight = sum(e["weight"] for e in w["events"])
    if samples and not 15 / 16 <= weight / samples * rate / 1e9 <= 17 / 16:
        print("a sample does not stand for its period:", w)
    if samples:
        period = weight / samples
        spread += sum(s["weight"] * period for s in w["services"] if s["name"] == os.environ["name"])
    if weight != sum(s["weight"] for s in w["services"]):
        print("services of a window do not add up:", w)
if rates != sorted(rates, reverse=True) or rates[0] != 1999 or rates[-1] > 500:
    print("rates:", rates)
mine = sum(s["weight"] for w in windows for s in w["services"] if s["name"] == os.environ["name"]) / 1e9
used = float(open("used").read())
if not 0 < mine <= used + 5 * spread**0.5 / 1e9:
    print("used", used, "s, sampled", mine, "s, deviation", spread**0.5 / 1e9)
END2
