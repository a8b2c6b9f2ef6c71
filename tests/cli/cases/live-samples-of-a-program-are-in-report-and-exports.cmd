# a program that takes samples of itself: they are in its stream with task, region, labels and names, and in a recording beside the kernel's
cp "$HELPERS/sampled" .
"$COATI" record -q --trace -o t.data -- ./sampled s.live >told 2>err || cat err told
for file in s.live t.data; do
	"$COATI" report -q --json --by task -e live:cpu -i $file >$file.task
	"$COATI" report -q --json --by region --task request -e live:cpu -i $file >$file.region
	"$COATI" report -q --json --by label:route -e live:cpu -i $file >$file.route
	for format in perfetto chrome firefox pprof folded speedscope otlp; do
		"$COATI" export -q -f $format --no-compress --check -e live:cpu -i $file -o "$file.$format" || echo "$file $format: status $?"
	done
	"$CLI/../lib/read-perfetto" $file.perfetto >$file.totals
done
"$COATI" report -q --json -i s.live >alone
"$COATI" report -q --json --by task -i - <s.live >stream.task
"$COATI" export -q -f folded --region reply -e live:cpu -i t.data -o reply.folded
"$COATI" report -i t.data | sed -n 's/.* \(that the program took of itself are left out\).*/\1/p'
"$COATI" report -i t.data | sed -n 's/.* page faults \(are omitted because they are counts, not durations\).*/\1/p'
"$COATI" report -q --json -i t.data >clock
"$COATI" report -q --json -e page-faults -i t.data >faults
"$COATI" trace -q --json -i s.live >trace.json
"$COATI" why --slow p90 request -i s.live | grep -c 'cannot tell: the recording does not show what threads did in 100 %'
python3 - <<'PY'
import json
samples, cpu_ns, lost = map(int, open("told").read().split())
if lost:
    cpu_ns = None  # the profile lacks them, the stream does not
def rows(name, key="label"):
    return {r[key]: r["self"] for r in json.load(open(name))["rows"]}
for file in "s.live", "t.data":
    total = json.load(open(file + ".task"))["total"]
    print(file, "weight:", cpu_ns in (total, None), "task:", rows(file + ".task").get("request", 0) > 0.9 * total)
    region, route = rows(file + ".region").get("reply", 0), rows(file + ".route").get("/api", 0)
    print(file, "region:", 0.1 * total < region < 0.5 * total, "label:", 0.1 * total < route <= region)
    chrome = json.load(open(file + ".chrome"))
    print(file, "chrome:", sum(s["weight"] for s in chrome["samples"]) == total, {s["name"] for s in chrome["samples"]})
    fox = json.load(open(file + ".firefox"))
    print(file, "firefox:", sum(round(1e6 * w) for t in fox["threads"] for w in t["samples"]["weight"]) == total, fox["meta"]["startTime"] > 1e12)
    perfetto = json.load(open(file + ".totals"))
    print(file, "perfetto:", sum(t[3] for t in perfetto["threads"]) == total)
print("clock:", json.load(open("clock"))["unit"], "faults:", json.load(open("faults"))["total"] > 100)
print("alone:", json.load(open("alone"))["total"] == json.load(open("s.live.task"))["total"])
print("stream:", rows("stream.task") == rows("s.live.task"))
print("trace:", json.load(open("trace.json"))["quality"]["samples"] >= samples)
for file in "s.live", "t.data":
    folded = {}
    for line in open(file + ".folded"):
        stack, weight = line.rsplit(" ", 1)
        for name in "spend_much", "spend_little":
            if name in stack.split(";"):
                folded[name] = folded.get(name, 0) + int(weight)
    print(file, "functions:", 2 < folded["spend_much"] / folded["spend_little"] < 4.5)
print("reply alone:", all("spend_little" in l and "spend_much" not in l for l in open("reply.folded")))
PY
