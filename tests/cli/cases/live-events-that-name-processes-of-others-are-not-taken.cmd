# An ordinary user's process (65534) has a flight recorder that says it is of a process of root's; one of another user (65533)
# is honest. In a /dev/shm of our own.
cat >inside <<'END'
. "$CLI/prelude.sh"
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
sleep 600 &
victim=$!
# forge: as a recorder of that process, locked by this one as long as it lives
cat >forge <<'PY'
import fcntl, os, signal, struct
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
name = "/dev/shm/coati-65534/%d-99.live" % os.getpid()
os.mkdir("/dev/shm/coati-65534", 0o700)
with open("flight", "rb") as f:
    whole = f.read()
file = open(name, "xb+", 0)
os.chmod(name, 0o600)
file.write(whole)
lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
fcntl.fcntl(file, 37, lock)  # F_OFD_SETLK
print("locked", flush=True)
signal.pause()
PY
"$HELPERS/make-flight" flight $victim <"$CLI/patient.txt"
cp "$HELPERS/recorder" honest
chmod 755 . forge flight honest
python3 forge >told &
liar=$!
wait_until grep -qs locked told
setpriv --reuid 65533 --regid 65533 --clear-groups ./honest stay >honest.told &
wait_until test -s honest.told
echo "a process whose recorder names another one"
"$COATI" record --trace -o file -p $liar -- sleep 0.5 2>said
sed -n "s/process $victim/process VICTIM/; s/$liar-99/PID-99/; /^coati record: ignored/p" said
"$COATI" trace -q --events file >events 2>err || cat err
echo "invented: $(grep -c 'GET /' events || :)"
echo "all processes: the agent"
# the agent takes what a recorder has closed, which a busy machine may put off
: >events
for run in 1 2 3 4 5 6 7 8 9 10; do
	"$COATI" agent --store store --window 200ms -d 4s --budget 100% 2>said || cat said
	for part in store/*.data; do "$COATI" trace -q --events "$part"; done >>events 2>err || cat err
	[ "$(grep -c 'true words' events)" -le 10 ] || break
done
echo "invented: $(grep -c 'GET /' events || :)"
[ "$(grep -c 'true words' events)" -le 10 ] || echo "those of the honest one are there"
kill $liar $victim "$(cut -d ' ' -f 1 honest.told)"
wait 2>/dev/null
END
unshare -m --propagation private sh -eu inside
