# its memory has hundreds of requests from before, of which none belongs here; what was open then
# does, and has its whole length
mkfifo in
"$HELPERS/before" <in >log &
exec 7>in
wait_for ready
"$COATI" record -q --trace -p $! -- sh -c ': >go; until [ -e went ]; do sleep 0.01; done' 2>err || cat err
exec 7>&-
wait
"$COATI" trace -q --tasks request --slowest 100000 --json >requests
"$COATI" trace -q --tasks connection --json >connection
"$COATI" export -q -f chrome -o chrome.json
python3 - <<'PY'
import json
lines = [line.split() for line in open("log")]
connected = int(lines[0][1])
log = [(int(a), int(b)) for a, b in lines[1:]]
j = json.load(open("requests"))
begin, end = j["begin_ns"], j["end_ns"]
error = j["quality"]["clock_error_ns"]
read = sorted((t["begin_ns"], t["end_ns"]) for t in j["tasks"])
inside = [r for r in log if r[0] >= begin and r[1] <= end]
touching = [r for r in log if r[1] >= begin and r[0] <= end]
print("from before:", sum(b < begin for _, b in log) > 100, "none" if all(b >= begin for _, b in read) else "some")
print("all inside:", len(inside) >= 100 and all(any(a - error <= x and y <= b + error for x, y in read) for a, b in inside))
print("no others:", len(inside) <= len(read) <= len(touching))
(c,) = json.load(open("connection"))["tasks"]
print("connection began %s" % ("when it did" if connected <= c["begin_ns"] < log[0][0] else c["begin_ns"] - connected))
begun = [e for e in json.load(open("chrome.json"))["traceEvents"] if e.get("name") == "request" and e["ph"] == "b"]
print("export:", "the same" if len(begun) == j["count"] == len(read) else "%d, not %d" % (len(begun), j["count"]))
PY
