# every verb that reads files is confined, with its broker, before it has read a byte; --no-sandbox and COATI_NO_SANDBOX
# leave that out, and then there is no broker
mkfifo in out
"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
# of a process and of its children: whether it can get no new rights, and the mode of seccomp
state()
{
	for process in "$1" $(pgrep -P "$1"); do
		sed -n 's/^\(NoNewPrivs\|Seccomp\):\t/ /p' "/proc/$process/status" | tr -d '\n'
	done
	echo
}
is_confined() { grep -q '^Seccomp:.2' "/proc/$1/status"; }
# The FIFO can be opened when somebody waits for what is in it.
of()
{
	"$COATI" "$@" >text 2>&1 &
	exec 9>in
	echo "$*:$(state $!)"
	exec 9>&-
	wait $!
}
of report in
of report --html page.html in
of report --source main in
of trace in
of why request -i in
of export -f folded -o folded in
of export -f pprof in
of diff in in
of view --no-open in
of dump in
of report --no-sandbox in
of dump --no-sandbox in
of view --no-open --no-sandbox in
COATI_NO_SANDBOX=1 of report in
COATI_NO_SANDBOX=0 of report in
# this one waits until somebody reads what it writes
"$COATI" autopsy -o out patient.live &
wait_until is_confined $!
echo "autopsy -o out patient.live:$(state $!)"
cat out >saved
wait $!
"$COATI" dump --stats saved | grep -c .
