"$CLI/../lib/write-recording" --mix phases a.data target:100,parse:100
ln a.data b.data
# an event, and directories, that are not there
"$COATI" report -q -e nothing a.data | grep '^# no sample'
"$COATI" report -q --label absent=x a.data | grep '^# no sample'
for words in "--root absent" "--root a.data" "--debug-dirs $PWD:absent" "--trust"; do
	for verb in report "export -f folded -o -" "diff a.data"; do
		"$COATI" $verb $words a.data >out || echo "status $?"
		[ ! -s out ] || echo "$verb $words: there is an answer"
	done
done
"$COATI" report -q --root "$PWD" --debug-dirs "$PWD:/" -n 1 a.data >/dev/null || echo "refused"
# one file under two names
"$COATI" report -n 1 a.data b.data >out
"$COATI" export -f folded -o - a.data ./a.data >out
"$COATI" report -q -n 1 a.data b.data >out
