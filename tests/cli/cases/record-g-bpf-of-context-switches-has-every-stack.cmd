# more switches a second than could be copied; a try is off where the machine was too busy to look up
# the unwind data within the 40 ms that the programs run
every_stack()
{
	"$COATI" record -q -g bpf --off-cpu -o b.data -- sh -c 'yes | head -c 20000000 | cat | cat >/dev/null'
	grep -a -o -E '^off_stacks_[a-z]+=[0-9]+|^switches_fast=[0-9]+|^walks_unknown=[0-9]+' b.data | awk -F= '
		$1 == "switches_fast" && $2 { print "turned to frame pointers" }
		$1 ~ /off_stacks/ { all += $2 } $1 == "off_stacks_end" { end = $2 } $1 == "walks_unknown" { unknown = $2 }
		END { if (all < 500 || end < 0.97 * all) print end, "of", all, "stacks of switches are complete,", unknown, "walks without unwind data" }'
}
judge 5 2 every_stack
