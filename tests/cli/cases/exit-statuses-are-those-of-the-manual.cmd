# the table of coati(1): each of its rows is seen, and no status that it does not have
"$CLI/../lib/write-recording" losses l.data
"$CLI/../lib/write-recording" --mix phases a.data target:300,parse:750,sort:450
"$CLI/../lib/write-recording" --mix phases b.data target:900,parse:375,sort:225
"$HELPERS/make-flight" f.live <"$CLI/patient.txt"
"$COATI" autopsy -o t.data f.live
echo x >text
: >seen
# of VERB ROW STATUS WORDS...
of()
{
	verb=$1 row=$2 status=$3
	shift 3
	"$COATI" "$verb" "$@" >out 2>err
	got=$?
	[ $got = "$status" ] || { echo "coati $verb $*: $got, not $status"; cat err; }
	echo "$verb $row" >>seen
}
full() { # VERB WORDS...: what cannot be written
	"$COATI" "$@" >/dev/full 2>err
	got=$?
	[ $got = 1 ] || echo "coati $* >/dev/full: $got, not 1"
}
of agent 0 0 --clickhouse http://127.0.0.1:1/x --print-schema
of agent 1 1 -q --store text/below -d 1s
of agent 2 2
of autopsy 0 0 f.live
of autopsy 0 0 --list
of autopsy 0 0 -o saved f.live
of autopsy 1 1 text
of autopsy 1 1 -o absent/file f.live
of autopsy 1 1 --fail-if 'events > 0' f.live
of autopsy 2 2
of completion 0 0 bash
full completion bash && echo "completion 1" >>seen
of completion 2 2 tcsh
of diff 0 0 -q l.data l.data --fail-if 'func:leaf > +50%'
of diff 1 1 -q a.data b.data --fail-if 'func:target > +20%'
of diff 2 2 -q l.data
of diff 2 2 -q l.data absent
of diff 2 2 -q l.data l.data -o /dev/full
of diff 2 2 -q --strict l.data l.data
of diff 3 3 -q l.data l.data --function nobody
of doctor 0 0
full doctor && echo "doctor 1" >>seen
of doctor 2 2 --nothing
of dump 0 0 l.data
of dump 1 1 absent
of dump 1 1 -e nothing l.data
of dump 1 1 -o /dev/full l.data
of dump 1 1 --strict l.data
of dump 2 2 -T nothing l.data
of export 0 0 -q -f folded -o x l.data
of export 1 1 -q -f folded -o absent/x l.data
of export 1 1 -q -f folded -o x absent
of export 1 1 -q -f folded -o x --fail-if 'lost > 41' l.data
of export 1 1 -q -f folded -o x --strict l.data
of export 2 2 l.data
of export 3 3 -q -f folded -o x --fail-if 'sampled < 1%' l.data
of list 0 0 cpu-clock
of list 1 1 nothing-is-named-so
full list cpu-clock
of list 2 2 --nothing
of record 0 0 -q -o r.data -p $$ -d 10ms
of record 1 1 -q -o absent/r.data -p $$ -d 10ms
of record 1 1 -q -o r.data --fail-if 'samples >= 0' -- true
of record 2 2 -F nothing -- true
of record 3 3 -q -o r.data -e alignment-faults --fail-if 'complete < 1%' -- true
of record N 7 -q -o r.data -- sh -c 'exit 7'
of record 125 125 -q -o absent/r.data -- true
of record 126 126 -q -o r.data -- ./text
of record 127 127 -q -o r.data -- ./nothing
of record 128+N 137 -q -o r.data -- sh -c 'kill -KILL $$'
of report 0 0 l.data
of report 1 1 absent
of report 1 1 --callers nobody l.data
of report 1 1 -o /dev/full l.data
of report 1 1 --fail-if 'lost >= 42' l.data
of report 1 1 --strict l.data
of report 2 2 --by nothing l.data
of report 3 3 --fail-if 'sampled < 1%' l.data
of stat 0 0 -e task-clock -p $$ -d 10ms
of stat 1 1 -e task-clock -p 999999999
of stat 2 2
of stat N 7 -e task-clock -- sh -c 'exit 7'
of stat 125 125 -e task-clock -o absent/x -- true
of stat 126 126 -e task-clock -- ./text
of stat 127 127 -e task-clock -- ./nothing
of stat 128+N 137 -e task-clock -- sh -c 'kill -KILL $$'
of top 0 0 --once -q -d 10ms -p $$
of top 1 1 --once -q -d 10ms -p 999999999
of top 2 2 --once -p nobody
of top N 7 --once -q -- sh -c 'exit 7'
of top 125 125 --once -q -o absent/x -- true
of top 126 126 --once -q -- ./text
of top 127 127 --once -q -- ./nothing
of top 128+N 137 --once -q -- sh -c 'kill -KILL $$'
of trace 0 0 t.data
of trace 1 1 absent
of trace 1 1 --tasks nothing t.data
of trace 1 1 -o /dev/full t.data
of trace 1 1 --fail-if 'lost > 41' l.data
of trace 1 1 --strict l.data
of trace 2 2 --from x t.data
of trace 3 3 --fail-if 'live_lost > 0' l.data
"$COATI" view -q --no-open l.data >address & view=$!
wait_until test -s address
port=$(sed 's/.*:\([0-9]*\).*/\1/' address)
of view 1 1 -q --no-open --port "$port" l.data
kill $view
wait $view
echo "view $?" >>seen
of view 1 1 -q --no-open absent
of view 1 1 -q --no-open --strict l.data
of view 2 2 --firefox --perfetto
of why 0 0 request -i t.data
of why 1 1 request -i absent
of why 1 1 nothing -i t.data
of why 1 1 -o /dev/full request -i t.data
of why 1 1 --fail-if 'live_lost >= 0' request -i t.data
head -c $(($(stat -c %s t.data) - 8)) t.data >cut.data
of why 1 1 --strict request -i cut.data
of why 2 2
# these two take 65,536 regions in each other, or no kernel record at all beside late live events: unit tests figures_* have them
printf '%s\n' 'autopsy 3' 'why 3' >>seen
sort -u seen >seen.rows
awk '/^\.SH EXIT STATUS/ { on = 1 } /^\.EE/ { on = 0 } on && table; /^\.EX/ { table = on }' "$CLI/../../docs/man/coati.1" |
	awk 'substr($0, 1, 1) != " " { verb = $1; $1 = ""; $0 = substr($0, 2) } /^ *[0-9N]/ && length($1) < 6 { print verb, $1 }' | sort -u >manual.rows
diff manual.rows seen.rows && wc -l <manual.rows
# the other pages have no list of their own
for page in "$CLI"/../../docs/man/coati-*.1; do
	awk '/^\.SH/ { on = /EXIT STATUS/ } on && /^\.B [0-9]|^[0-9]+ / { print FILENAME ": " $0 }' "$page"
	grep -q '^See EXIT STATUS in' "$page" || echo "$page does not refer to coati(1)"
done
