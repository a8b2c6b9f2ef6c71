# a program with the live library, also of an ordinary user: every task and region is there, time breakdowns add up, the folder is gone afterwards
cp "$HELPERS/requests" .
chmod 755 requests
export XDG_RUNTIME_DIR="$PWD/run"
mkdir -m 777 run
as_user ./coati record -q --trace -- ./requests 300 none 100 >told 2>err || cat err
as_user ./coati trace -q --json >j
as_user ./coati trace -q --json --tasks request --slowest 1000 >tasks
python3 - <<'PY'
import json
j = json.load(open("j"))
print(*sorted((t["kind"], t["name"], t["count"], t["open"]) for t in j["types"]))
q = j["quality"]
print(q["live_lost"], q["live_damaged"], q["unpaired"], q["clock_error_ns"] < 100000)
tasks = json.load(open("tasks"))["tasks"]
wrong = [t for t in tasks if sum(v for k, v in t["ledger"].items() if k != "duration") != t["ledger"]["duration"]]
print(len(tasks), len(wrong), len({t["id"] for t in tasks}))
PY
as_user ./coati trace -q --check >out || cat out
ls -A run
as_user ./coati record -q --trace -o killed.data -- sh -c './requests 100000 kill 100 100; :' 2>err || cat err
as_user ./coati trace -q --json -i killed.data >j
python3 - <<'PY'
import json
j = json.load(open("j"))
(request,) = [t for t in j["types"] if t["name"] == "request"]
print("of a program that was killed:", request["count"] > 10, request["open"])
PY
