# at paranoid 2: states from switch records alone; what is not known is said, with the way out, and nothing is made up
as_user ./coati record -q --trace -- sleep 0.1 2>err || cat err
as_user ./coati trace -q >out
sed -n -e 's/^\(# waits have no stacks\):.*/\1/p' -e 's/^\(# wakers are unknown\) .*/\1/p' out
as_user ./coati trace -q --json >j
python3 - <<'PY'
import json
j = json.load(open("j"))
(t,) = j["threads"]
ledger = t["ledger"]
print(j["schema"], t["comm"], *sorted(k for k in ledger if k not in ("duration", "running", "preempted")))
print("adds up:", sum(v for k, v in ledger.items() if k != "duration") == ledger["duration"])
print("slept:", ledger["other"] > 90e6)
PY
as_user ./coati trace -q --check >out || cat out
