# a recording of several chunks with samples, switches and live events, and one of another machine, read by one, two and
# eight threads; then the first one cut, which ends with the same words and status
"$COATI" record -q --trace -F 4000 -g fp -o a.data -- "$HELPERS/shapes" 1500 2 >/dev/null
"$COATI" record -q --trace -F 4000 -g fp -o b.data -- "$HELPERS/requests" 300 none >/dev/null
cp "$CLI/../data/recordings/arm64-table.data" c.data
size=$(wc -c <a.data)
head -c $((size * 2 / 3)) a.data >d.data
each() { # FOLDER THREADS: everything that readers say about all of them
	mkdir "$1"
	for file in a b c d; do
		for words in "report --no-local --by function" "report --no-local --json" "report --no-local --json --by thread" "dump --stats" "dump" \
			"trace" "export --no-local -f folded -o -" "export --no-local -f pprof -o -"; do
			name=$file-$(echo "$words" | tr -c 'a-z\n' _)
			status=0
			# shellcheck disable=SC2086 # words
			COATI_THREADS=$2 "$COATI" $words -i $file.data >"$1/$name.out" 2>"$1/$name.err" || status=$?
			echo "$status" >>"$1/$name.err"
		done
	done
	status=0
	"$COATI" diff --threads "$2" --no-local a.data b.data >"$1/diff.out" 2>"$1/diff.err" || status=$?
	echo "$status" >>"$1/diff.err"
}
each one 1
each two 2
each eight 8
diff -rq one two
diff -rq one eight
find one -name '*.out' -size +0 | wc -l | awk '{ print ($1 > 25 ? "enough" : $1) " outputs" }'
