# no root: own processes. Also beside another recorder of the same user, whose ring buffers take most of the memory that he may
# lock: it has smaller ones then.
cp "$(realpath "$COATI")" coati
cp "$HELPERS/deep" .
chmod 755 coati deep
mkdir out
chmod 777 out
as_able()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all,+bpf,+perfmon --ambient-caps +bpf,+perfmon "$@"
}
as_able ./coati record -q -g bpf -o out/other.data -- sh -c 'echo $$ >out/other; exec sleep 60' &
wait_until test -s out/other
for run in beside alone; do
	[ $run = beside ] || { kill "$(cat out/other)"; wait; }
	as_able ./coati record -v -g bpf -o out/n.data -- ./deep 400 0.2 2>&1 | grep -E -o 'walked in the kernel|from copies'
done
grep -a -o -E '^stacks_(end|gap|unmapped|truncated|limit|bad)=[0-9]+' out/n.data |
	awk -F= '{ all += $2 } $1 == "stacks_end" { end = $2 } END { if (all < 50 || end < 0.95 * all) print end, "of", all, "are complete" }'
