# a program with the live library: its tasks and regions in every timeline as readers see them that know nothing of our code, and samples by what it was doing
cp "$HELPERS/requests" .
"$COATI" record -q --trace -o t.data -- ./requests 200 none 100 >told 2>err || cat err
for format in perfetto chrome firefox pprof folded; do
	"$COATI" export -q -f $format --no-compress --check -i t.data -o "t.$format" || echo "$format: status $?"
done
"$CLI/../lib/read-perfetto" t.perfetto >t.totals
"$COATI" trace -q --json -i t.data >t.json
"$COATI" report -q --json --by task -i t.data --counts >by-task
"$COATI" report -q --json --task request -i t.data --counts >within
python3 - <<'PY'
import json
from collections import Counter
types = {t["name"]: t["count"] for t in json.load(open("t.json"))["types"]}
print("trace", sorted(types.items()))
p = json.load(open("t.totals"))
print("perfetto", sorted(Counter(s[-2] for s in p["slices"]).items()))
c = json.load(open("t.chrome"))["traceEvents"]
print("chrome", sorted(Counter(e["name"] for e in c if e["ph"] in "Xb").items()))
f = json.load(open("t.firefox"))
names = f["shared"]["stringArray"]
markers = [(names[n], d["type"]) for t in f["threads"] for n, d in zip(t["markers"]["name"], t["markers"]["data"])]
print("firefox", sorted(Counter(n for n, kind in markers if kind in ("region", "task")).items()))
rows = {r["label"]: r["self"] for r in json.load(open("by-task"))["rows"]}
print("samples within:", json.load(open("within"))["total"] == rows.get("request", 0))
print("who ran:", len(p["ran"]) >= 2, "woken:", p["wakes"] > 0)
PY
"$COATI" export -q -f pprof --task nothing -i t.data -o none.pb.gz --check; echo $?
