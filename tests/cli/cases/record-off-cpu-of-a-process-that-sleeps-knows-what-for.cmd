# threads that sleep before and during the whole recording: all of their time has its reason, in
# the report and on the timeline, also in the second of two files
"$HELPERS/asleep" ready &
pid=$!
wait_for ready
"$COATI" record -q --off-cpu -d 200ms -p "$pid" -o o.data
"$COATI" record -q --trace -d 200ms -p "$pid" -o t.data
"$COATI" record -q --off-cpu -d 500ms -p "$pid" --switch-output 200ms -o s.data
kill "$pid"
second=$(ls s.data.* | sed -n 2p)
least=190000000
for file in o.data "$second"; do
	for wait in futex poll read sleep; do
		"$COATI" report -q -i "$file" --mode off --by wait --thread "asleep-$wait" --json | python3 -c '
import json, sys
j = json.load(sys.stdin)
print(*(r["wait"] for r in j["rows"]), all(r["total"] == j["quality"]["off_cpu"]["time_ns"] > int(sys.argv[1]) for r in j["rows"]))' "$least"
	done
	least=1000000
done
"$COATI" trace -q --json t.data >j
python3 - <<'PY'
import json
for t in sorted(json.load(open("j"))["threads"], key=lambda t: t["comm"]):
    ledger = t["ledger"]
    duration = ledger.pop("duration")
    print(t["comm"], *ledger, list(ledger.values()) == [duration], duration > 0.19e9)
PY
"$COATI" trace -q t.data | grep -c 'unknown and\|are unknown' | sed 's/^0$/all is known/'
