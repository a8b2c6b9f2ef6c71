# each program is new: what the walker does not know yet is finished by the reader, and every sample is accounted for
"$COATI" record -q -F 4000 -g bpf -o b.data -- sh -c 'i=0; while [ $i -lt 300 ]; do /bin/true; /bin/ls / >/dev/null; i=$((i + 1)); done'
grep -a -o -E '(samples|^stacks_(end|gap|unmapped|truncated|limit|bad|none|pointers))=[0-9]+' b.data | awk -F= '
	$1 == "samples" { n = $2 } $1 != "samples" { sum += $2 } $1 == "stacks_end" { end = $2 } $1 == "stacks_none" { none = $2 }
	END {
		if (n != sum || n < 100) print n, "samples,", sum, "accounted for"
		if (end < 0.9 * (n - none)) print end, "of", n - none, "are complete"
	}'
