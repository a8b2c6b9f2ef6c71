# the program has ended and its file is deleted long before the recording ends
. "$CLI/gone-files.sh"
spinner kept spin_here
scenario()
{
	cp kept p
	as "$tool" record -q -g fp -o run.data -- \
		sh -c './p; rm -f p; : >ended; until [ -e stop ]; do sleep 0.01; done' &
	until_held p
	: >go
	wait_for ended
	[ ! -e p ] || echo "it is still there"
	: >stop
	wait
	named spin_here p
}
by_both
