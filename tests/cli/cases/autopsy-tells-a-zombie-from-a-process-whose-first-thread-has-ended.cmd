# a process that nobody has waited for has ended; one whose first thread has ended looks alike in
# /proc, but lives
state()
{
	"$COATI" autopsy --directory rec -n 1 "$(cat pid)" | sed -n 's/^fly (pid [0-9]*, user [0-9]*) //p'
	"$COATI" autopsy --directory rec --list --json | grep -o '"state":"[a-z]*"'
}
zombie()
{
	[ "$(sed 's/.*) \(.\) .*/\1/' "/proc/$(cat pid)/stat")" = Z ]
}
for signal in 9 -1; do
	rm -f pid
	sh -c '"$HELPERS/fly" rec "$1" & exec sleep 60' sh "$signal" >/dev/null 2>&1 &
	parent=$!
	wait_until test -s pid
	wait_until zombie
	state
	[ "$signal" = 9 ] || kill -9 "$(cat pid)"
	kill "$parent"
	rm -r rec
done
