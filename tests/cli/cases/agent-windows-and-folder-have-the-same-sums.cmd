# Each weight and each sample of the folder is in exactly one window, by service and in all; and what
# the folder gives is the sum of its segments. A segment is as short as a window: the worst case.
"$HELPERS/shift" &
load=$!
"$COATI" agent -q --store store --print --window 500ms --segment 500ms -d 4s -F 99 --label the-region-of-this-test=eu \
	--drop 'nobody-has-this-name' --budget 100% >windows || echo "agent: $?"
kill $load
is_json windows || echo "no JSON"
for f in store/*.data; do
	"$COATI" report --json -i "$f" --by service --limit 0 2>/dev/null
done >segments
"$COATI" report --json store --by service --limit 0 >folder 2>/dev/null
"$COATI" report --json store --by label:the-region-of-this-test --limit 0 >region 2>/dev/null
python3 - <<'END'
import json
def add(rows, key, weight):
    sums = {}
    for r in rows:
        sums[r[key]] = sums.get(r[key], 0) + r[weight]
    return {k: v for k, v in sums.items() if v}
windows = [json.loads(l) for l in open("windows")]
folder = json.load(open("folder"))
segments = [json.loads(l) for l in open("segments")]
a = add([s for w in windows for s in w["services"]], "name", "weight")
b = add(folder["rows"], "label", "self")
c = add([r for s in segments for r in s["rows"]], "label", "self")
if a != b:
    print("windows and folder differ:", a, b)
if b != c:
    print("folder and segments differ:", b, c)
total = sum(e["weight"] for w in windows for e in w["events"])
if not total or total != folder["total"]:
    print("totals differ:", total, folder["total"])
if sum(w["quality"]["samples"] for w in windows) != folder["samples"]:
    print("samples differ")
if [w["sequence"] for w in windows] != list(range(1, len(windows) + 1)):
    print("numbers of windows:", [w["sequence"] for w in windows])
for x, y in zip(windows, windows[1:]):
    if x["end_ns"] != y["start_ns"]:
        print("a gap between windows", x["sequence"], y["sequence"])
if len(segments) < 2:
    print("only", len(segments), "segments")
r = json.load(open("region"))
if [(x["label"], x["self"]) for x in r["rows"]] != [("eu", total)]:
    print("labels of the machine:", r["rows"])
END
