# no line is longer than the terminal is wide, columns stand under their headings, and NO_COLOR is heard
"$HELPERS/sampled" s.live >told
"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
for width in 80 120 200; do
	for view in trace "trace --tasks request" "trace --task 1" "trace --events -n 30" "trace --thread sampled -n 9" report; do
		TERM=xterm script -qec "stty cols $width rows 50; $COATI $view -i s.live" /dev/null >"$width $view" </dev/null
	done
	TERM=xterm script -qec "stty cols $width rows 50; $COATI autopsy patient.live" /dev/null >"$width autopsy" </dev/null
done
NO_COLOR=1 TERM=xterm script -qec "$COATI trace -i s.live" /dev/null >plain </dev/null
# colors alone: a slow reading may show its progress
grep -c "$(printf '\033')\[[0-9;]*m" plain
grep -q "$(printf '\033')" "80 trace" && echo colors
"$COATI" trace -i s.live >"0 trace"
python3 - <<'PY'
import glob, re
for name in sorted(glob.glob("[0-9]* *")):
    width = int(name.split()[0])
    # what a slow reading shows meanwhile is wiped out again
    lines = [re.sub("\r[^\r\n]*\033\\[K\r\033\\[K|\033\\[[0-9;]*m", "", l).rstrip("\r\n") for l in open(name, newline="\n")]
    long = [l for l in lines if len(l) > width]
    if len(lines) < 3:
        print(name, "says too little:", lines)
    if width and long:
        print(name, "too long:", long)
    if name.endswith(" trace"):
        # a number ends where its heading does
        at = next(i for i, l in enumerate(lines) if l.endswith("  task"))
        ends = [m.end() for m in re.finditer(r"\S+", lines[at])][:-1]
        wrong = [e for e in ends if lines[at + 1][e - 1] == " " or lines[at + 1][e] != " "]
        print(name, "columns:", len(ends), "wrong:", wrong)
PY
