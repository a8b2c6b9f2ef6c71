# where the kernel mixes up the samples of two events that count the same, they are refused; where it does not, each has its own
try() {
	if "$COATI" record -q -c 1 -o "$1.data" -e "$2" -- "$HELPERS/touch-pages" 500 >out 2>err; then
		"$COATI" dump --stats "$1.data" | awk '/page-faults/ && $1 == 0 { print "nothing for " $2 }'
	elif [ "$3" = refused ]; then
		: >confuses
		grep -q 'are the same for the kernel, which would give the samples of both to one of them; record them one after the other' err || cat err
	else
		cat err
	fi
}
try twice page-faults,page-faults refused
try part page-faults,page-faults:u refused
try periods page-faults/period=1/,page-faults/period=3/ refused
try apart page-faults:u,page-faults:k taken
try other page-faults,minor-faults taken
# two recorders at once: what has the other's id is told, and is nobody's
sh -c 'kill -STOP $$; exec "$0" 5000' "$HELPERS/touch-pages" >/dev/null &
pid=$!
for n in 1 2; do
	"$COATI" record -c 1 -e page-faults -p $pid -o $n.data 2>$n.told &
	tries=0
	until [ -s $n.data ] || [ $tries -gt 1000 ]; do tries=$((tries + 1)); sleep 0.01; done
done
kill -CONT $pid
wait
for n in 1 2; do
	"$COATI" dump --stats --json $n.data >$n.stats
	"$COATI" report -q --json -e page-faults -i $n.data >$n.report
	"$COATI" report -e page-faults -i $n.data >$n.text
done
python3 - <<'PY'
import json, os
stray = 0
for n in "12":
    stats, report = json.load(open(n + ".stats")), json.load(open(n + ".report"))
    own = next(e["samples"] for e in stats["events"] if e["event"] == "page-faults")
    strays = stats["no_event"]
    told = [text in open(n + end).read() for end, text in ((".text", "of no event in the file"), (".told", "another recorder's event"))]
    print("own:", own == report["samples"], "all:", own + strays >= 5000, "told:", told == 2 * [strays > 0])
    stray += strays
print("strays:", (stray > 0) == os.path.exists("confuses"))
PY
