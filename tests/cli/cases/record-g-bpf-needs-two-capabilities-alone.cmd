# no root: own processes
cp "$(realpath "$COATI")" coati
cp "$HELPERS/deep" .
chmod 755 coati deep
mkdir out
chmod 777 out
setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all,+bpf,+perfmon --ambient-caps +bpf,+perfmon \
	./coati record -v -g bpf -o out/n.data -- ./deep 400 0.2 2>&1 | grep -E -o 'walked in the kernel|from copies'
grep -a -o -E '^stacks_(end|gap|unmapped|truncated|limit|bad)=[0-9]+' out/n.data |
	awk -F= '{ all += $2 } $1 == "stacks_end" { end = $2 } END { if (all < 50 || end < 0.95 * all) print end, "of", all, "are complete" }'
