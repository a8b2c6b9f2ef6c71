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
# the kernel's part is not for everybody
if [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 2 ]; then
	try apart page-faults:u,page-faults:k taken
fi
try other page-faults,minor-faults taken
# two recorders at once: samples that come with the other's id are given to the event of the ring that they come from, in a file, in a stream, and with several events
both() {
	sh -c 'kill -STOP $$; exec "$0" 5000' "$HELPERS/touch-pages" >/dev/null &
	pid=$!
	for n in 1 2; do
		case $n$1 in
		1stream) "$COATI" record -c 1 -e page-faults -p $pid -o - >$1.$n.data 2>$1.$n.told & ;;
		1several) "$COATI" record -c 1 -e page-faults,minor-faults -p $pid -o $1.$n.data 2>$1.$n.told & ;;
		*) "$COATI" record -c 1 -e page-faults -p $pid -o $1.$n.data 2>$1.$n.told & ;;
		esac
		tries=0
		until [ -s $1.$n.data ] || [ $tries -gt 1000 ]; do tries=$((tries + 1)); sleep 0.01; done
	done
	kill -CONT $pid
	wait
	for n in 1 2; do
		"$COATI" dump --stats --json $1.$n.data >$1.$n.stats
		"$COATI" report -q --json -e page-faults -i $1.$n.data >$1.$n.report
		"$COATI" report -e page-faults -i $1.$n.data >$1.$n.text
	done
}
both file
both stream
both several
python3 - <<'PY'
import json
for mode in "file", "stream", "several":
    strays = 0
    for name in mode + ".1", mode + ".2":
        stats, report = json.load(open(name + ".stats")), json.load(open(name + ".report"))
        own = next(e["samples"] for e in stats["events"] if e["event"] == "page-faults")
        stray = stats["no_event"]
        told = [text in open(name + end).read() for end, text in ((".text", "of no event in the file"), (".told", "event ID of another recorder"))]
        if own != report["samples"] or own + stray < 5000 or told != 2 * [stray > 0]:
            print(name, own, report["samples"], stray, told)
        strays += stray
    print(mode, strays == 0)
PY
