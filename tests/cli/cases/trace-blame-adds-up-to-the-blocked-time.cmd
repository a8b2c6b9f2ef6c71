# without wake-ups: a shell waits for its child until that one ends, which implies who woke it;
# what the child slept is unattributed, and all of it together is the blocked time
adds_up()
{
	as_user ./coati record -q --trace -- sh -c 'sleep 0.2; :' 2>err || cat err
	as_user ./coati trace -q --json >summary
	as_user ./coati trace -q --blame --json >blame
	as_user ./coati trace -q --events --json -n 0 >events
	python3 - <<'PY'
import json, sys
summary, blame = json.load(open("summary")), json.load(open("blame"))
on_cpu = ("duration", "running", "runnable", "preempted", "irq", "unknown")
blocked = {t["comm"]: sum(ns for part, ns in t["ledger"].items() if part not in on_cpu) for t in summary["threads"]}
rows = {(r["woken"], r["waker"], r["implied"]): r["blocked_ns"] for r in blame["rows"]}
table = sum(rows.values()) + blame["unattributed_ns"]
if not sum(blocked.values()) == table == blame["blocked_ns"]:
    print("blocked", blocked, "but the table has", rows, blame["unattributed_ns"], "and its sum is", blame["blocked_ns"])
# a shell that gets its CPU too late may have waited for anything
(ended,) = (t["end_ns"] for t in summary["threads"] if t["comm"] == "sleep")
def longest(comm):
    mine = [e for e in json.load(open("events"))["events"] if e["comm"] == comm]
    return max(b["time_ns"] - a["time_ns"] for a, b in zip(mine, mine[1:]) if not a["event"].startswith(("run", "preempted", "wakes")))
ran = min(e["time_ns"] for e in json.load(open("events"))["events"] if e["comm"] == "sh" and e["event"].startswith("running") and e["time_ns"] >= ended)
if ran - ended > 10e6:
    sys.exit(3)
waited = rows.get(("sh", "sleep", True), 0)
if not longest("sh") == waited <= blocked["sh"]:
    print("the shell waited", waited, "ns for sleep to end, not", longest("sh"), rows)
if not longest("sleep") <= blame["unattributed_ns"] == blame["blocked_ns"] - waited:
    print("unattributed:", blame["unattributed_ns"], "of", blame["blocked_ns"])
PY
}
judge 1 0 adds_up
as_user ./coati trace -q --blame | tail -n 2 | grep -o "unattributed.*\|blocked in all"
