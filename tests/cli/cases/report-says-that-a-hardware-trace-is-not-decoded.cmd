# a recording of Intel PT alone, as a stream: an event, what kind of trace it is, 4096 bytes of it
python3 - >trace.data <<'PY'
import struct, sys
out = sys.stdout.buffer
def record(kind, body):
    out.write(struct.pack("<IHH", kind, 0, 8 + len(body)) + body)
out.write(b"PERFILE2" + struct.pack("<Q", 16))
attr = struct.pack("<IIQQQQQ", 8, 112, 0x300, 1, 0x10087, 4, 0).ljust(112, b"\0")
record(64, attr + struct.pack("<Q", 7))
record(70, struct.pack("<II", 1, 0) + bytes(64))
record(11, struct.pack("<QQQ", 0, 4096, 0) + struct.pack("<IIQIIQ", 5, 5, 1000, 0, 0, 7))
record(71, struct.pack("<QQQIIII", 4096, 0, 0, 0, 5, 0, 0))
out.write(bytes(4096))
PY
"$COATI" report trace.data
"$COATI" report trace.data 2>&1 | grep -c 'too briefly'
"$COATI" export -q -f folded -o - trace.data | wc -c
"$COATI" export -f folded -o x trace.data 2>&1 | grep -c 'Intel PT'
