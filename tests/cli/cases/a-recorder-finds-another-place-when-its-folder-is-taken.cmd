# in a /dev/shm of our own, whose name for root's folder is another user's
cat >inside <<'END'
. "$CLI/prelude.sh"
mount -t tmpfs -o mode=1777,nr_inodes=200k tmpfs /dev/shm
mkdir -m 700 /dev/shm/coati-0
chown 65534 /dev/shm/coati-0
# place [stay]: what the recorder says
place()
{
	"$HELPERS/recorder" "${1-kill}" 2>said | cut -d ' ' -f 2 || :
	sed 's/coati-0-[0-9a-f]*$/coati-0-NUMBER/; s|in /.*/run/coati|in RUN/coati|' said
}
unset XDG_RUNTIME_DIR
place
place
echo "folders: $(ls -d /dev/shm/coati-0-* | wc -l), files: $(ls /dev/shm/coati-0-*/*.live | wc -l)"
mkdir -m 700 run
export XDG_RUNTIME_DIR="$PWD/run"
place
"$COATI" autopsy --list | wc -l
chown 65534 run # of somebody else: not used
place
unset XDG_RUNTIME_DIR
echo "files: $(ls /dev/shm/coati-0-*/*.live | wc -l)"
rm -r /dev/shm/*
# another user makes so many names that nothing of ours can be found among them: nothing is made that would stay
mkdir -m 700 /dev/shm/coati-0
chown 65534 /dev/shm/coati-0
python3 -c 'for i in range(65600): open("/dev/shm/%d" % i, "x").close()'
place
place
echo "folders: $(ls /dev/shm | grep -c 'coati-0-' || :)"
mount -t tmpfs -o ro tmpfs /dev/shm
"$HELPERS/recorder" stay >told 2>said &
wait_until test -s told
pid=$(cut -d ' ' -f 1 told)
cut -d ' ' -f 2 told
cat said
"$COATI" autopsy -n 1 "$pid" | head -n 1 | sed "s/$pid/PID/g"
kill -9 "$pid"
wait
"$COATI" autopsy "$pid" 2>&1 | grep -c 'has no readable flight recorder'
END
unshare -m --propagation private sh -eu inside
