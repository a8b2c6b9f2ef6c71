# Instructions that the kernel looks at before the walker may run: most of what a short recording costs. 9,000 on Linux 6.18.
"$COATI" record -q -g bpf -o b.data -- sh -c 'grep -hs verified_insns /proc/$PPID/fdinfo/*' | awk '
	{ all += $2 } END { if (!(all > 1000 && all < 12000)) print all + 0, "instructions were verified" }'
