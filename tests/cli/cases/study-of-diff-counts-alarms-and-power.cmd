study=$CLI/../../scripts/study
# its own statistics: t of 6 degrees of freedom in closed form, 2 of 70 divisions, Holm's second step, 1 of 8
python3 - "$study" <<'P'
import importlib.machinery, importlib.util, sys
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("study", sys.argv[1])
study = importlib.util.module_from_spec(importlib.util.spec_from_loader("study", loader))
loader.exec_module(study)
print("%.5f" % study.welch([1, 2, 3, 4], [3, 4, 5, 6]))
print("%.5f" % study.mann_whitney([1, 2, 3, 4], [5, 6, 7, 8]))
print("%.5f" % study.mann_whitney([1, 1, 1, 1], [1, 1, 1, 1]))
print(sorted(study.holm({"a": 0.01, "b": 0.02, "c": 0.04, "d": 0.9})), sorted(study.holm({"a": 0.02, "b": 0.026})))
print("%.3f" % study.tail(3, 3, 0.5))
P
# a small bank of recordings with known contents: three times the work is found, and nothing where there is nothing
mkdir known
for i in 0 1 2 3; do
	for change in 0 200; do
		"$CLI/../lib/write-recording" --mix steady known/steady-60ms-5000hz-$change-$i.data \
			target:$((300 + 3 * change + i)),parse:$((700 - i)),sort:$((400 + i % 2))
	done
done
python3 "$study" diff --tool "$COATI" --bank known --recordings 4 --milliseconds 60 --rate 5000 \
	--programs steady --changes 200 --sizes 1,4 --draws 2
echo "status $?"
# a small bank that is recorded: what is found in so few samples is left to chance
python3 "$study" diff --tool "$COATI" --bank bank --recordings 4 --milliseconds 60 --rate 5000 \
	--programs steady --changes 300 --sizes 1,4,8 --draws 2
echo "status $?"
ls bank/*.data | wc -l
# what is there is not recorded again; a program of one's own
touch -d 2001-01-01 bank/*
python3 "$study" diff --tool "$COATI" --bank bank --recordings 4 --milliseconds 60 --rate 5000 --programs steady \
	--changes 300 --sizes 1 --extra "own=$HELPERS/phases 60 {}" >out
echo "status $?"
grep -c '^own ' out
find bank -name 'steady-*' -newermt 2002-01-01
python3 "$study" diff --programs nothing 2>&1 | tail -n 1
python3 "$study" diff --tool ./absent --bank bank --recordings 1 --programs tiny >out 2>err || sed 's/.*study: //' err
# what was counted is not counted again: the recordings are gone, the lines are the same
small() { # OPTION...
	python3 "$study" diff --tool "$COATI" --bank bank2 --recordings 2 --milliseconds 20 --rate 5000 --programs steady --changes 300 --sizes 1 "$@"
}
small --held-out >first || echo "status $?"
grep -c '^held out:' first
sed -n '/^held out:/,$s/^\([a-z]*\) *\([0-9]* %\).*/\1 \2/p' first
for file in bank2/*.data; do : >"$file"; done
small --held-out >second || echo "status $?"
cmp first second
# another tool counts for itself: it cannot read these recordings
cp "$COATI" other
printf 'x' >>other
small --tool ./other >third 2>&1 || echo "status $?"
grep -c 'other diff' third
