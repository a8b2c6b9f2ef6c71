# read as Perfetto's importer does: begin and end by thread in the order of time, nothing else of samples
"$COATI" record -q --off-cpu -F 2000 -o rec.data -- sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done; sleep 0.03; cat /dev/null' 2>err || cat err
for mode in on both; do
	"$COATI" export -q --check --mode $mode -f chrome -o $mode.json rec.data
done
"$COATI" record -q -e page-faults -c 1 -o faults.data -- true
"$COATI" export -q --check -f chrome -o faults.json faults.data
python3 - <<'PY'
import json
from decimal import Decimal
from collections import defaultdict
for mode in "on", "both", "faults":
    trace = json.load(open(mode + ".json"), parse_float=Decimal)
    open_, covered, nr, wrong = defaultdict(list), defaultdict(int), 0, []
    last = defaultdict(int)
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    for e in trace["traceEvents"]:
        key = e["pid"], e["tid"]
        if e.get("cat") != "sample":
            continue
        nr += 1
        if key not in named:
            wrong.append("no name")
        if e["ph"] == "B":
            if e["ts"] < last[key]:
                wrong.append("begins before what came before it")
            open_[key].append(e)
        elif e["ph"] == "E":
            b = open_[key].pop()
            if b["name"] != e["name"] or e["ts"] <= b["ts"]:
                wrong.append((b, e))
            if not open_[key]:
                covered[key] += e["ts"] - b["ts"]
        last[key] = e["ts"]
    # the time that the samples cover, of which no part twice
    wanted, end = defaultdict(int), defaultdict(int)
    for s in trace["samples"]:
        key, weight = (s["pid"], s["tid"]), Decimal(s["weight"]) / 1000
        if s["name"] == "off-cpu":
            start, stop = s["ts"], s["ts"] + weight
        else:
            start, stop = max(s["ts"] - weight, 0), s["ts"]
        start = max(start, end[key])
        if stop > start:
            wanted[key] += stop - start
            end[key] = stop
    if mode == "faults":
        instants = sum(e["ph"] == "i" and e.get("cat") == "sample" for e in trace["traceEvents"])
        print(mode, instants == len(trace["samples"]) > 0)
        continue
    print(mode, nr > 20, [k for k in open_ if open_[k]], wrong[:3],
          len(wanted) > 0, dict(wanted) == {k: v for k, v in covered.items()})
PY
