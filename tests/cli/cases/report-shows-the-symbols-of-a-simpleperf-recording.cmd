# written by hand as simpleperf does it, with both of its sections of symbols
cat >make.py <<'PY'
import struct, sys
kind, out = sys.argv[1], sys.argv[2]
def record(type_, misc, body):
    return struct.pack("<IHH", type_, misc, 8 + len(body)) + body
def mmap(addr, size, pgoff, path, prot=5):
    name = path.encode() + b"\0"
    name += bytes(-len(name) % 8)
    return record(10, 2, struct.pack("<IIQQQIIQQII", 5, 5, addr, size, pgoff, 1, 2, 3, 0, prot, 2) + name)
def sample(ip, time):
    return record(9, 2, struct.pack("<QIIQQ", ip, 5, 5, time, 1000))
data = record(3, 0, struct.pack("<II", 5, 5) + b"app\0\0\0\0\0")
data += mmap(0x7000000000, 0x3000, 0x1000, "/system/lib64/libfoo.so")
data += mmap(0x7100000000, 0x3000, 0, "/data/app/base.vdex")
# from before it said where in the file code begins; and code of a JIT, whose mappings lie one over the other in their file
data += mmap(0x400000, 0x3000, 0, "/data/t2")
data += mmap(0x9c000000, 0x40, 0x100, "perf.data_jit_app_cache:256-512", 0x4000)
data += mmap(0x9c000800, 0x40, 0x100, "perf.data_jit_app_cache:256-512", 0x4000)
data += sample(0x400510, 100) + sample(0x9c000014, 200) + sample(0x9c000814, 300)
# it had the formats of tracepoints in their record, not behind it
data += record(66, 0, struct.pack("<I", 60) + b"x" * 64)
data += sample(0x7000000110, 1000) + sample(0x700000013f, 2000) + sample(0x7000000200, 3000) + sample(0x7100000810, 4000)
attr = struct.pack("<IIQQQ", 4, 112, 17, 1000, 0x107).ljust(112, b"\0")
def varint(v):
    b = b""
    while v > 127:
        b += bytes([v & 127 | 128])
        v >>= 7
    return b + bytes([v])
def number(n, v):
    return varint(n << 3) + varint(v)
def text(n, v):
    return varint(n << 3 | 2) + varint(len(v)) + v
files = [("/system/lib64/libfoo.so", 2, 0x2000, [(0x2100, 0x40, "_ZN3foo3barEv")], 0x1000),
         ("/data/app/base.vdex", 3, 0, [(0x800, 0x20, "com.example.Main.run")], None),
         ("/data/t2", 2, 0x400000, [(0x400500, 0x40, "before_offsets")], None),
         ("perf.data_jit_app_cache:256-512", 2, 0, [(0x9c000010, 0x20, "jit_one"), (0x9c000810, 0x20, "jit_two")], 0)]
def proto(path, type_, low, symbols, offset):
    b = text(1, path.encode()) + number(2, type_) + number(3, low)
    for addr, size, name in symbols:
        b += text(4, number(1, addr) + number(2, size) + text(3, name.encode()))
    return b + (text(6, number(1, offset)) if offset is not None else text(5, b""))
def plain(path, type_, low, symbols, offset):
    b = path.encode() + b"\0" + struct.pack("<IQI", type_, low, len(symbols))
    for addr, size, name in symbols:
        b += struct.pack("<QI", addr, size) + name.encode() + b"\0"
    return b + (struct.pack("<Q", offset) if offset is not None else struct.pack("<I", 0) if type_ == 3 else b"")
section = b"".join(struct.pack("<I", len(b)) + b for b in ((proto if kind == "file2" else plain)(*f) for f in files))
if kind == "cut":
    section = section[:len(section) - 30]
meta = b"simpleperf_version\0" + b"1.build.1\0" + b"event_type_info\0" + b"cpu-clock,1,0\nraw-cpu-cycles,4,17\0"
bits = {"file2": [(129, meta), (132, section)]}.get(kind, [(128, section), (129, meta)])
attrs_at, data_at = 104, 104 + 128
table_at = data_at + len(data)
body_at = table_at + 16 * len(bits)
features, table, bodies = [0, 0, 0, 0], b"", b""
for bit, b in bits:
    features[bit // 64] |= 1 << bit % 64
    table += struct.pack("<QQ", body_at + len(bodies), len(b))
    bodies += b
header = b"PERFILE2" + struct.pack("<13Q", 104, 128, attrs_at, 128, data_at, len(data), 0, 0, *features, 0)[:96]
open(out, "wb").write(header + attr + struct.pack("<QQ", 0, 0) + data + table + bodies)
PY
for kind in file2 file cut; do
	python3 make.py $kind $kind.data
	echo "$kind:"
	"$COATI" report -q --csv $kind.data | tail -n +2 | cut -d , -f 1,2,11 | sort
done
"$COATI" report -q --by event --csv file2.data | cut -d , -f 1,11
"$COATI" report -q --mangled --csv file2.data | grep -c '^_ZN3foo3barEv,'
