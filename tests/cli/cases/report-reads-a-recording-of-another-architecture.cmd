# made on arm64 (scripts/test-vm) of a program without frame pointers that a signal interrupts; names came with it
cp "$CLI/../data/recordings/arm64-table.data" .
"$COATI" report -q --no-local --counts --csv arm64-table.data | awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
	/,stacks-bare,/ { print $1, $column["self_samples"], $column["total_samples"] }'
"$COATI" report -q --no-local --callers spin_in_handler arm64-table.data | grep -o '[a-z_]*  stacks-bare'
