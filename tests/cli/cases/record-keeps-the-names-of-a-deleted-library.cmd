. "$CLI/gone-files.sh"
spinner p spin_here libgone.so
cp libgone.so kept.so
scenario()
{
	cp kept.so libgone.so
	as "$tool" record -q -g fp -o run.data -- ./p &
	until_held libgone.so
	rm libgone.so
	: >go
	wait
	named spin_here libgone.so
}
by_both
