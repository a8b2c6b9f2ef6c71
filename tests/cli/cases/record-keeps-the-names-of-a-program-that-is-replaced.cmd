# The new file has the same name and another function at the same address. Without a build ID only
# the inode tells them apart.
. "$CLI/gone-files.sh"
for id in sha1 none; do
	cc() { command cc -Wl,--build-id=$id "$@"; }
	spinner kept spin_here
	spinner other impostor
	scenario()
	{
		cp kept p
		as "$tool" record -q -g fp -o run.data -- ./p &
		until_held p
		rm p
		cp other p
		: >go
		wait
		named spin_here p
		named impostor p
	}
	by_both
done
