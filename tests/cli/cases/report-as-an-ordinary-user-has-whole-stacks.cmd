# at paranoid 2: no kernel, but stacks of a program without frame pointers, all but a few of them complete
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void leaf(void) { SPIN(1500000); }
__attribute__((noinline)) void down(int n) { if (n) down(n - 1); else leaf(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 100; i++) down(20); return 0; }
C
cc -O1 -fomit-frame-pointer -o p p.c
as_user ./coati record -q -g table -- ./p
export XDG_CACHE_HOME="$PWD/cache"
mkdir -m 777 cache
as_user ./coati report -q --json --no-inline >j
is_json j || echo "no JSON"
python3 - <<'PY'
import json
j = json.load(open("j"))
q, rows = j["quality"], {r["function"]: r for r in j["rows"]}
print("few samples:", q["samples"]) if q["samples"] < 50 else None
# the loader has one or two samples, however few there are in all
print("of %d stacks complete: %d" % (q["samples"], q["stacks"]["complete"])) if q["samples"] - q["stacks"]["complete"] > max(2, 0.01 * q["samples"]) else None
print("kernel parts") if any(r["image"] == "[kernel]" for r in j["rows"]) else None
print("leaf and main are not in all:", rows["leaf"], rows["main"]) if min(rows[n]["total"] for n in ("leaf", "main")) < 0.95 * j["total"] else None
PY
