# a service in a crash loop, in a /dev/shm of 64 MiB of our own
cat >inside <<'END'
. "$CLI/prelude.sh"
mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm
# crash TIMES: how many files were removed, all in all
crash()
{
	i=0
	removed=0
	while [ "$i" -lt "$1" ]; do
		told=$("$HELPERS/recorder" kill) || :
		newest="${told%% *} ${newest%% *}"
		removed=$((removed + ${told##* }))
		i=$((i + 1))
	done
	pid=${told%% *}
	echo "of $1 crashes $removed removed, $(ls /dev/shm/coati-0 | wc -l) left"
}
newest=
crash 60
# nothing is there that is not listed, and the last two can be read
[ "$(find /dev/shm -type f | wc -l)" = "$("$COATI" autopsy --list --json | grep -o '"state":' | wc -l)" ] || echo "unlisted files"
for dead in $newest; do "$COATI" autopsy -n 1 "$dead" | grep -c 'true words'; done
kib=$(du -sk /dev/shm/coati-0 | cut -f 1)
[ "$kib" -le 32768 ] && [ "$kib" -gt 28000 ] || echo "$kib KiB"
"$COATI" autopsy -n 1 "$pid" | grep -c 'true words'
echo "by the environment"
export COATI_KEEP_FILES=3
crash 5
COATI_KEEP_FILES=three "$HELPERS/recorder" kill 2>&1 || :
export COATI_KEEP_BYTES=3M
unset COATI_KEEP_FILES
crash 2
echo "one that lives is left alone, whatever its number"
export COATI_KEEP_FILES=1
"$HELPERS/recorder" stay >told &
wait_until test -s told
alive=$(cut -d ' ' -f 1 told)
mv "/dev/shm/coati-0/$alive"-* /dev/shm/coati-0/1-1.live
crash 3
"$COATI" autopsy --list --json | tr '{' '\n' | grep -o '"state":"[a-z ]*"' | sort
kill -9 "$alive"
wait
echo "writers that died before the head was written"
: >/dev/shm/coati-0/77-1.live.new
head -c 1M /dev/zero >/dev/shm/coati-0/78-1.live.new
touch -d '1 hour ago' /dev/shm/coati-0/77-1.live.new /dev/shm/coati-0/78-1.live.new
"$COATI" autopsy --list | sed -n 's/ user.*//p' | sort
"$COATI" autopsy --clean 30m
"$COATI" autopsy --list | sed -n 's/ user.*//p' | grep -c ' 7[78] ' || :
END
unshare -m --propagation private sh -eu inside
