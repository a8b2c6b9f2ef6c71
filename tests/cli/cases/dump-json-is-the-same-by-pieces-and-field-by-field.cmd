for event in 'sched:sched_switch -c 1' 'raw_syscalls:sys_enter -c 1 -g none' 'cpu-clock -F 5000' 'page-faults -c 1 -g none'; do
	# shellcheck disable=SC2086 # several words
	"$COATI" record -q -e $event -a -o r.data -- sh -c 'for i in 1 2 3 4 5; do ls -R /etc; done >/dev/null 2>&1'
	"$COATI" dump --json -i r.data >pieces
	"$COATI" dump --json --raw -i r.data | sed 's/,"raw":"[0-9a-f]*"}$/}/' | cmp - pieces
	grep -c '"type":"SAMPLE"' pieces | grep -vx 0 >/dev/null && echo same
done
