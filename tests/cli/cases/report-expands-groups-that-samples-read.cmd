# {leader,member}:S: a sample of the leader has the counts of all members, and stands for each of
# them with what it counted since the sample before
sum() {
	"$COATI" report -q --json -i group.data -e "$1" |
		sed 's/.*"total":\([0-9]*\),"samples":\([0-9]*\),"unit".*/\1 \2/'
}
"$COATI" record -q -F 2000 -e '{cpu-clock,page-faults}:S' -o group.data -- \
	sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/true; done; i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
# the last count of each counter of each thread is the sum of what was counted between its samples
"$COATI" dump -i group.data | awk '
	/ SAMPLE cpu-clock: / {
		split("", v)
		for (i = 1; i <= NF; i++)
			if (split($i, pair, "=") == 2)
				v[pair[1]] = pair[2]
		for (i = 0; i < 2; i++) {
			key = $3 " " v["value" i "_id"]
			d = v["value" i] - last[i, key]
			last[i, key] = v["value" i]
			sum[i] += d
			nr[i] += d > 0
		}
	}
	END { printf "%d %d\n%d %d\n", sum[0], nr[0], sum[1], nr[1] }' >expected
{ sum cpu-clock; sum page-faults; } >found
cmp expected found && awk '{ if ($1 < 1 || $2 < 1) print "nothing:", $0 }' found
