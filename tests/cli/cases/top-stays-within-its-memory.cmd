# New threads, processes and names all the time, a history that has no room for them: what is held
# stays at the cap, and nothing else grows. COATI_SOAK makes it longer.
. "$CLI/screen.sh"
"$HELPERS/shift" -c &
load=$!
open_screen 120 24 top -p $load -F 999 --memory 256k --interval 200ms --by thread
until_shows 'of 0.25 MiB'
pid=$(pgrep -P "$(tm display -p '#{pane_pid}')" coati)

held() { screen | sed -n 's/.* \([0-9.]*\) of 0.25 MiB .*/\1/p'; }
memory() { awk '$1 == "RssAnon:" { print $2 }' "/proc/$pid/status"; }
is_full() { shows 'memory is full'; }
for _ in $(seq 150); do
	! is_full || break
	sleep 0.2
done
if ! is_full; then
	echo "the load had too little of the CPUs to fill the history" >busy
	keys q
	wait_for status
	cat status
	kill $load
	exit
fi
before=$(memory)
for _ in $(seq $((20 * ${COATI_SOAK:-1}))); do
	sleep 0.25
	held | awk '$1 > 0.35 { print "held: " $1 " MiB" }'
done
after=$(memory)
[ $((after - before)) -lt 12288 ] || echo "memory grew from $before to $after KiB"
keys q
wait_for status
cat status
kill $load
