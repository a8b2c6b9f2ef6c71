# every nanosecond of CPU time is one on a CPU, and the weights are those of the report
"$COATI" record -q --off-cpu -o rec.data -- sh -c 'sleep 0.05; i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 0.05' 2>err || cat err
"$COATI" export -q --check --mode both -f firefox -o out.json.gz rec.data
for mode in on both; do
	"$COATI" report --json --mode $mode rec.data | grep -o '"total":[0-9]*' | head -n 1 | cut -d: -f2 >$mode
done
python3 - <<'PY'
import gzip, json
from decimal import Decimal
threads = json.load(gzip.open("out.json.gz"), parse_float=Decimal)["threads"]
cpu = sum(sum(t["samples"]["threadCPUDelta"]) for t in threads)
weight = sum(sum(t["samples"]["weight"]) for t in threads) * 1000000
on, both = int(open("on").read()), int(open("both").read())
print("CPU time", "is that on CPUs" if cpu == on else "%d, on CPUs %d" % (cpu, on))
print("weights", "are all" if weight == both else "%d, all %d" % (weight, both))
print("waited", both - on >= 90000000)
PY
