# looking up names at the end included
"$COATI" record -- "$HELPERS/../../examples/words" 2>told >/dev/null
cost=$(sed -n 's/.*, \([0-9.]* [a-z]*\) of own CPU time.*/\1/p' told)
"$COATI" report | grep -c "; recording cost $cost\$"
