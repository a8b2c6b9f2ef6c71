# a timer ends 40 naps while another thread computes on that CPU: the naps belong to an interrupt
# and to the code that sleeps, whether interrupts are recorded or not
shows()
{
	"$COATI" record -q --trace $1 -- "$HELPERS/nap" 40 2>err || cat err
	"$COATI" trace -q --json --blame -n 0 >blame
	"$COATI" trace -q --json --events -n 0 >events
	python3 - <<'PY'
import json, sys
blame = json.load(open("blame"))
if blame["quality"]["lost"]:
    sys.exit(3)
naps = [r for r in blame["rows"] if r["woken"] == "napper" and r["wait"] == "sleep"]
right = [r for r in naps if r["waker"] == "interrupt" and not r["waker_stack"] and "take_a_nap < main" in r["waiter_stack"]]
# a nap that is over before the thread has left its CPU is none
if not 35 <= sum(r["count"] for r in right) <= 40 or naps != right:
    print("naps:", naps)
wakes = [e["event"] for e in json.load(open("events"))["events"] if e["event"].startswith("wakes napper") and "spin_here" in e["event"]]
if wakes:
    print("wakes:", wakes[0])
PY
	"$COATI" trace -q --events -n 0 | grep ' at=$\|: $\|at=  ' | head -n 1
}
judge 1 0 shows
judge 1 0 shows --no-irq
