# a program whose section headers claim 4 GB of unwind data, which are zeros in a sparse file: bounded, and nothing wrong is called complete
python3 - "$HELPERS/deep" <<'PY'
import os, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
shoff, = struct.unpack_from("<Q", data, 0x28)
size, nr, names = struct.unpack_from("<HHH", data, 0x3a)
at = lambda i: shoff + i * size
strings, = struct.unpack_from("<Q", data, at(names) + 0x18)
for i in range(nr):
    name, = struct.unpack_from("<I", data, at(i))
    text = data[strings + name:data.index(0, strings + name)].decode()
    if text == ".eh_frame":
        struct.pack_into("<QQ", data, at(i) + 0x18, (len(data) + 4095) & ~4095, 4 << 30)
    if text == ".eh_frame_hdr":  # no index into it
        struct.pack_into("<Q", data, at(i) + 0x20, 0)
with open("huge", "wb") as f:
    f.write(data)
os.truncate("huge", len(data) + 4096 + (4 << 30))
os.chmod("huge", 0o755)
PY
ulimit -v 4000000 # of addresses: it cannot even be mapped; without that limit 4 GB of it are never read
for how in table bpf; do
	"$COATI" record -q -g $how -o b.data -- ./huge 30 0.2 || echo "status $?"
	grep -a -o -E '(samples|^stacks_(end|gap|unmapped|truncated|limit|bad|none|pointers))=[0-9]+' b.data | awk -F= '
		$1 == "samples" { n = $2 } $1 != "samples" { sum += $2 } $1 == "stacks_end" { end = $2 }
		END { if (n != sum || n < 50) print n, "samples,", sum, "accounted for"; if (end > 0.2 * n) print end, "of", n, "are complete" }'
done
rm huge
