# Each sample has the labels that its thread had then: of threads that change them all the time, whose keys are new while they
# are recorded, in a program and in its child.
mkfifo in out
# record OPTION...: the program with $words, from the moment on that it is ready.
record()
{
	# shellcheck disable=SC2086 # none or one word
	"$HELPERS/labeled" $words 300 200 <in >out &
	exec 8>in 7<out
	read -r pid <&7
	"$COATI" record -q -g bpf "$@" -o l.data -p "$pid" -- sh -c 'echo >&8; read -r done <&7'
	exec 8>&-
	wait $!
}
# values KEY COLUMN OPTION...: the labels with that column of the report.
values()
{
	key=$1
	column=$2
	shift 2
	"$COATI" report -i l.data "$@" --by "label:$key" --csv | awk -F, -v key="$key" -v column="$column" \
		'NR > 1 && $1 != "" { print key "=" $1, $column }' | sort
}
for words in '' -f; do
	record -e page-faults:u -c 1
	for key in worker turn where; do values "$key" 9; done
done
# a thread may wait for its CPU, too
words=
record --off-cpu
values where 11 --mode off | awk '$1 == "where=asleep" { nr = $2 } END { if (!(nr >= 500)) print nr + 0, "waits of 500" }'
