"$COATI" top -p $$ </dev/null
echo $?
script -qec "TERM=dumb '$COATI' top -p $$" /dev/null </dev/null | tr -d '\r'
script -qec "TERM=no-such-terminal '$COATI' top -p $$" /dev/null </dev/null | tr -d '\r'
