# files of other users that say they are of a process of root's; in a /dev/shm of our own
cat >inside <<'END'
. "$CLI/prelude.sh"
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
# forge PID FOLDER-UID FILE-UID
forge()
{
	mkdir -p -m 700 "/dev/shm/coati-$2"
	"$HELPERS/make-flight" "/dev/shm/coati-$2/$1-99.live" "$1" <"$CLI/patient.txt"
	chown "$2" "/dev/shm/coati-$2"
	chown "$3" "/dev/shm/coati-$2/$1-99.live"
}
"$HELPERS/recorder" stay >told &
wait_until test -s told
pid=$(cut -d ' ' -f 1 told)
forge "$pid" 65534 65534
echo "while it lives"
"$COATI" autopsy -n 1 "$pid" | grep -E '^recorder|^patient|text=' | sed "s/$pid/PID/g"
kill -9 "$pid"
wait
echo "when it is dead"
"$COATI" autopsy -n 1 "$pid" 2>err | grep -E '^recorder|^patient|text=' | sed "s/$pid/PID/g"
sed "s/$pid/PID/g" err
echo "of a process of another user that lives"
forge $$ 65534 65534
"$COATI" autopsy $$ 2>err || sed "s/$$/PID/g" err
echo "of nobody knows whom"
forge 4194303 65534 65534
forge 4194303 65533 65533
"$COATI" autopsy 4194303 2>&1 || :
echo "of one user, and many of them"
rm /dev/shm/coati-65533/4194303*
i=0
while [ $i -lt 100 ]; do
	i=$((i + 1))
	cp -p /dev/shm/coati-65534/4194303-99.live "/dev/shm/coati-65534/4194303-1$i.live"
done
"$COATI" autopsy 4194303 2>&1 | sed -n '1s/1[0-9]*.live\|99.live/N.live/p'
rm /dev/shm/coati-65534/4194303-1*
echo "in a folder of one user, owned by another; and where others may write"
rm /dev/shm/coati-65534/4194303*
forge 4194303 65533 65532
"$COATI" autopsy 4194303 2>&1 || :
forge 4194303 65533 65533
chmod 770 /dev/shm/coati-65533
"$COATI" autopsy 4194303 2>&1 || :
END
unshare -m --propagation private sh -eu inside
