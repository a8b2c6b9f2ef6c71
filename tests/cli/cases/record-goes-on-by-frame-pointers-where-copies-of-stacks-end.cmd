# 256 bytes of stack hold a few frames of forty: tables alone do not come to the root, frame pointers go on from there
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void leaf(void) { SPIN(1500000); }
__attribute__((noinline)) void down(int n) { if (n) down(n - 1); else leaf(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 400; i++) down(40); return 0; }
C
cc -O1 -fno-omit-frame-pointer -o p p.c
for mode in auto fp table; do
	"$COATI" record -g $mode $([ $mode = fp ] || echo --stack-size 256) -o $mode.data -e cpu-clock:u -- ./p 2>err
	"$COATI" report -i $mode.data --json >$mode.json
done
grep -o 'stacks do not reach their root' err
python3 - <<'PY'
import json
share = {}
for mode in ("auto", "fp", "table"):
    q = json.load(open(mode + ".json"))["quality"]
    print("few samples:", q["samples"]) if q["samples"] < 50 else None
    share[mode] = q["stacks"]["complete"] / q["samples"]
print("auto:", share["auto"]) if share["auto"] < 0.97 else None
print("table:", share["table"]) if share["table"] > 0.05 else None
print("auto is worse than fp:", share) if share["auto"] < share["fp"] - 0.03 else None
PY
