# another user fills /dev/shm with names; in one of our own
cat >inside <<'END'
mount -t tmpfs -o mode=1777,nr_inodes=0 tmpfs /dev/shm
"$HELPERS/make-flight" flight <"$CLI/patient.txt"
chmod 755 . && chmod 644 flight
cat >crowd <<'CROWD'
import os, shutil
for i in range(70000):
    os.close(os.open("/dev/shm/%d" % i, os.O_CREAT | os.O_WRONLY))
for i in range(300):
    os.mkdir("/dev/shm/coati-0-%d" % i, 0o700)
for i in range(20):
    os.mkdir("/dev/shm/coati-65534-%d" % i, 0o700)
    for pid in range(1, 4):
        shutil.copy("flight", "/dev/shm/coati-65534-%d/%d-1.live" % (i, pid))
CROWD
setpriv --reuid 65534 --regid 65534 --clear-groups /usr/bin/python3 crowd
told=$("$HELPERS/recorder" kill)
"$COATI" autopsy -n 1 "${told%% *}" | grep -c 'true words'
echo "of all: $("$COATI" autopsy --list | grep -c 'user 0 ') of root's, $("$COATI" autopsy --list | grep -c 'user 65534 ') of the other's"
END
unshare -m --propagation private sh -eu inside
# one that is all holes: 17 GB with 16 million chunks
"$HELPERS/make-flight" holes <"$CLI/patient.txt"
python3 - <<'END'
import os, struct
os.truncate("holes", 17 << 30)
with open("holes", "r+b") as f:
    f.seek(16)
    f.write(struct.pack("<Q", 17 << 30))
    f.seek(104)
    f.write(struct.pack("<QQII", 1 << 30, 1 << 30, 1000, 1 << 24))
END
"$COATI" autopsy holes | sed -n 2p
