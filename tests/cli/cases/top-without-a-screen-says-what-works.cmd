# libtinfo forgets the memory of a terminal that it does not know: that leak is not ours
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
"$COATI" top -p $$ </dev/null
echo $?
script -qec "TERM=dumb '$COATI' top -p $$" /dev/null </dev/null | tr -d '\r'
script -qec "TERM=no-such-terminal '$COATI' top -p $$" /dev/null </dev/null | tr -d '\r'
