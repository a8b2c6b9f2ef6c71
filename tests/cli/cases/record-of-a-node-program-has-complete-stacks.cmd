# code that V8 makes at run time, and its builtins, have frame pointers and no unwind tables
cat >p.js <<'J'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
let s = 0;
for (let k = 0; k < 60; k++) {
	s += fib(20);
	const a = [];
	for (let i = 0; i < 500; i++) a.push((i * 7919) % 1000);
	a.sort((x, y) => x - y);
	s += a.map(x => String(x)).join(',').length;
}
while (process.cpuUsage().user < 500000) s += fib(24);
J
for mode in auto fp; do
	"$COATI" record -q -g $mode -o $mode.data -e cpu-clock:u -- node p.js
	"$COATI" report -q -i $mode.data --json >$mode.json
done
python3 - <<'PY'
import json
def share(name):
    q = json.load(open(name + ".json"))["quality"]
    print("few samples:", q["samples"]) if q["samples"] < 50 else None
    return q["stacks"]["complete"] / q["samples"]
auto, fp = share("auto"), share("fp")
print("auto: %.3f" % auto) if auto < 0.8 else None
print("auto %.3f is worse than fp %.3f" % (auto, fp)) if auto < fp - 0.1 else None
PY
