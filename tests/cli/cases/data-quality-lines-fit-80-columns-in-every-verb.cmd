# On a terminal of 80 columns; into a pipe a line stays one, for scripts.
cat >spin <<'S'
i=0
while [ $i -lt 200000 ]; do i=$((i + 1)); done
i=0
while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done
S
"$COATI" record -q --trace -o trace.data sh spin
for verb in "record -F 500 sh spin" "record -F 500 -m 16k -g dwarf -o lost.data sh spin" "report -n 1 coati.data" "report -n 1 lost.data" "report --tree coati.data" "report --flame coati.data" \
	"export -f pprof coati.data" "diff coati.data lost.data -n 1" "trace trace.data" "trace --blame trace.data" "dump --stats coati.data"; do
	script -qec "stty cols 80; $COATI $verb" /dev/null >shown 2>&1
	[ -s shown ] || echo "$verb shows nothing"
	sed 's/\r$//; s/\x1b\[[0-9;]*m//g' shown | python3 -c '
import sys
for line in sys.stdin:
    line = line.rstrip("\n")
    if len(line) > 80 and "recorded differently" not in line and (line.startswith("#") or line.startswith("coati ")):
        print(sys.argv[1], len(line), line)' "$verb"
done
"$COATI" report -n 1 coati.data | grep -c '^# coati.data: .* throttled, sampled .* % of CPU time; stacks: .*; recording cost '
