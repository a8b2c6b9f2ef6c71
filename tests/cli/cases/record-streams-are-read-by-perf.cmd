for how in 'report --stdio' script; do
	# shellcheck disable=SC2086 # the words of how
	"$COATI" record -q -o - sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done' | perf $how -i - >out 2>err ||
		echo "perf $how: $?"
	[ ! -s err ] || cat err
	grep -q sh out || echo "perf $how: no sample"
done
