# Processes that end before their first period is over have no sample: their CPU time is counted all the same. The shell
# itself is sampled. What is counted is what the kernel charges (times), which has the rest of each exit, too.
cat >loop <<'S'
i=0
while [ $i -lt 400 ]; do /bin/true; i=$((i + 1)); done
times >times
S
"$COATI" record -F 200 sh loop 2>told
sed -n 's/.* throttled, sampled \([0-9]*\) % of CPU time, .*/\1/p' told >share
[ "$(cat share)" -lt 60 ] || { echo "of programs that run half a millisecond:"; cat told; }
grep -c '^coati record: [0-9]* % of the CPU time has no samples: 40[12] processes and threads ended, .*(5.00 ms) .* -F 10000 .* -a ' told
"$COATI" report -n 1 >shown
grep -c "throttled, sampled $(cat share) % of CPU time; stacks" shown
grep -c '^# [0-9]* % of the CPU time has no samples: 40[12] .*coati record -F 10000 .* -a ' shown
"$COATI" report --json >json
is_json json && python3 - <<'P'
import json, os, re
s = json.load(open("json"))["quality"]["sampled"]
used = sum(60 * int(m) + float(n) for m, n in re.findall(r"(\d+)m([0-9.]+)s", open("times").read()))
# an ordinary user has samples of user space alone
print(s["unit"], s["period"], s["is_part"] == bool(os.geteuid()), s["exits"] in (401, 402), round(100 * s["share"]) == int(open("share").read()))
# 0.89 of it was seen: the end of each exit is not counted; a host that takes CPU time makes it more
print("counted:", s["counted"] / 1e9 > 0.7 * used or (s["counted"] / 1e9, used))
P
