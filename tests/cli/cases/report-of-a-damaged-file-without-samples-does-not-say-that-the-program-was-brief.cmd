# a stream that is cut or damaged before its first sample, and one that is whole and has none
python3 - <<'PY'
import struct
def record(kind, body):
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body
attr = struct.pack("<IIQQQQQ", 1, 112, 0, 1000, 0x7, 0, 0).ljust(112, b"\0")
whole = b"PERFILE2" + struct.pack("<Q", 16) + record(64, attr + struct.pack("<Q", 7))
whole += record(3, struct.pack("<II", 5, 5) + b"program\0")
sample = record(9, struct.pack("<QIIQ", 4096, 5, 5, 1000))
damaged = whole + struct.pack("<IHH", 9, 0, 0) + sample
for name, data in ("whole", whole), ("cut", whole + sample[:16]), ("damaged", damaged):
    open(name, "wb").write(data)
PY
for file in whole cut damaged; do
	"$COATI" report -i $file 2>&1 | grep '# no samples'
done
