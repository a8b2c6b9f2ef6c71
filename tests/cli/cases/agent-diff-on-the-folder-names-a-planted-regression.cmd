# Version A, then version B, in which target does twice its work: diff of two ranges of time names it.
"$COATI" agent -q --store store --window 500ms -F 999 --segment 2s --budget 100% &
agent=$!
wait_until sh -c 'ls store/*.data >/dev/null 2>&1'
"$HELPERS/phases" 2000 100
sleep 1
middle=$(date +%s)
sleep 1
"$HELPERS/phases" 2000 200
kill $agent
wait $agent || echo "agent: $?"
"$COATI" diff --before "store@@$((middle - 600))..@$middle" --after "store@@$middle..now" -p phases --json >diff 2>err || true
is_json diff || cat diff err
python3 - <<'END'
import json
d = json.load(open("diff"))
rows = {r["function"]: r for r in d["rows"]}
t = rows.get("target")
if not t or t["verdict"] != "more":
    print("target:", t)
others = [n for n in ("parse", "sort", "hash", "copy", "compress", "encode", "send") if rows.get(n, {}).get("verdict") == "more"]
if others:
    print("blamed:", others)
END
