# clocks of processes that switch all the time are those of the CPUs where the stack walker can be loaded: the samples are those of
# the processes alone, also of one that they start meanwhile
cat >swap.py <<'PY'
import os
a, b = os.pipe(), os.pipe()
child = os.fork()
if not child:
    os.close(a[1])
    while os.read(a[0], 1):
        os.write(b[1], b"x")
    os._exit(0)
with open("new", "w") as f:
    f.write("%d,%d\n" % (os.getpid(), child))
os.rename("new", "pids")
while True:
    os.write(a[1], b"x")
    os.read(b[0], 1)
    if not os.path.exists("go"):
        continue
    os.unlink("go")
    if not os.fork():
        for i in range(3000000):
            pass
        os.rename("began", "done")
        os._exit(0)
PY
touch began
python3 swap.py &
swap=$!
sh -c 'while :; do :; done' &
other=$!
wait_until test -e pids
"$COATI" record -q --trace -m 16M -p "$(cat pids)" -o p.data -- sh -c 'touch go; until [ -e done ]; do sleep 0.02; done' 2>err || cat err
kill "$swap" "$other"
"$COATI" trace -q --check -i p.data >out || cat out
"$COATI" report -q --mode on --by process --json -i p.data >j 2>/dev/null
python3 - <<'PY'
import json
names = {r["process"] for r in json.load(open("j"))["rows"]}
print("processes:", *names)
PY
