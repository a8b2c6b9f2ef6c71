# A stack of about 37 KiB: at 3 kHz rings of 16 MiB have room for 22 KiB of each. The warning comes while the program runs.
"$HELPERS/deep" 150 600 &
program=$!
"$COATI" record -g table -F 3000 -m 16M -p $program 2>told &
recorder=$!
wait_until grep -qs 'stacks are truncated' told
kill -0 $recorder && kill -0 $program && echo "both run"
kill -TERM $recorder
wait $recorder
kill $program
sed 's/[0-9][0-9]* of the first/N of the first/; s/the first [0-9]*/the first N/; s/: [0-9]* of [0-9]* stacks/: N of N stacks/; s/coati.data: .*/coati.data: .../' told
# What is advised is accepted, and helps: nothing is cut any more, and nothing is said.
"$COATI" record -g table -F 3000 -m 64M --stack-size 64k --fail-if 'truncated > 1%' "$HELPERS/deep" 150 0.2 2>&1 | grep -c 'are truncated\|fail-if'
"$COATI" record -g table -F 3000 -m 64M --fail-if 'truncated > 1%' "$HELPERS/deep" 150 0.2 2>&1 | grep -c 'are truncated\|fail-if'
"$COATI" record -g table "$HELPERS/deep" 150 0.2 2>&1 | grep -c 'are truncated'
true
