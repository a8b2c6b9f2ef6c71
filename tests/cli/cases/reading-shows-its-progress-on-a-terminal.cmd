# a million packed samples without a round: the terminal shows how far the reading is, unpacking included
python3 - "$CLI" <<'PY'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from matrix import inflate
f = inflate.Inflate()
f.time += 1000
hits = b"".join(f.hit(ip=0x400000 + i, pid=i % 20000 + 2, tid=i % 20000 + 2) for i in range(200000))
data, _ = inflate.pack_up(f, hits * 5, True, {}, level=1)
open("big.data", "wb").write(data)
PY
export COATI_UNPACK_MOST=1000000 COATI_PROGRESS=0
TERM=xterm script -qec "'$COATI' report -i big.data" /dev/null </dev/null | tr '\r' '\n' >shown
sed -n 's/.*big.data: *\([0-9]*\) % read, \([0-9]*\) samples.*/\1 \2/p' shown >steps
[ -s steps ] || echo "no progress"
# it never goes back, and ends before the end
awk '$1 < last || $1 > 100 || $2 > 1000000 { print "step " NR ": " $0 } { last = $1 }' steps
grep -o '1,000,000 samples' shown
# nothing of it for who wants no remarks
TERM=xterm script -qec "'$COATI' report -q -i big.data" /dev/null </dev/null | grep -c '% read' || true
COATI_PROGRESS=4000000000 TERM=xterm script -qec "'$COATI' report -i big.data" /dev/null </dev/null | grep -c '% read' || true
# top reads recordings in the same way; dump shows it when its output is no terminal
mkdir store
mv big.data store/coati-20261116T170000Z-0001.data
for verb in "top --once --store store --from 2026-01-01" "dump -i store/*.data >dumped"; do
	TERM=xterm script -qec "'$COATI' $verb" /dev/null </dev/null | tr '\r' '\n' | sed -n 's/.*data: *\([0-9]*\) % read, .*/\1/p' >steps
	[ -s steps ] && echo "${verb%% *}: shown"
	awk '$1 < last || $1 > 100 { print "step " NR ": " $0 } { last = $1 }' steps
done
grep -c cpu-clock dumped
