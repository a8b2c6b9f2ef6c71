"$HELPERS/wait-threads" 3 ready &
pid=$!
wait_for ready
"$COATI" record -q --off-cpu -d 200ms -p "$pid"
kill "$pid"
"$COATI" report -q --mode off --by thread --json >j
python3 - <<'PY'
import json
j = json.load(open("j"))
print(j["mode"], j["unit"], len(j["rows"]))
short = [r for r in j["rows"] if r["total"] < 190e6]
print("not all of the time:", short) if short else None
PY
