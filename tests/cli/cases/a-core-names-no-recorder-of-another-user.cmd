# What an ordinary user's core file says of where its recorder lies is believed of that user's files alone. In a /dev/shm of our own.
cat >inside <<'END'
. "$CLI/prelude.sh"
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
for user in 0 65534; do
	mkdir -m 700 /dev/shm/coati-$user
	"$HELPERS/make-flight" /dev/shm/coati-$user/4242-99.live <"$CLI/patient.txt"
	chown -R $user /dev/shm/coati-$user
done
# core OWNER USER: a core file of OWNER, which names the recorder of USER
core()
{
	python3 - "/dev/shm/coati-$2/4242-99.live" <<'PY'
import struct, sys
name = sys.argv[1].encode() + b"\0"
files = struct.pack("<5Q", 1, 4096, 0x10000, 0x20000, 0) + name
note = struct.pack("<3I", 5, len(files), 0x46494c45) + b"CORE\0\0\0\0" + files + bytes(-len(files) % 4)
head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
segment = struct.pack("<IIQQQQQQ", 4, 0, 64 + 56, 0, 0, len(note), len(note), 4)
open("core", "wb").write(head + segment + note)
PY
	chown "$1" core
	echo "of $1, naming one of $2"
	"$COATI" autopsy -n 1 core 2>&1 | grep -E 'names a flight|patient' | head -n 1
}
core 65534 0
core 65534 65534
core 0 65534
core 0 0
END
unshare -m --propagation private sh -eu inside
