esc=$(printf '\033')
TERM=xterm script -qec "$COATI doctor" /dev/null </dev/null | grep -c "$esc" >n
[ "$(cat n)" -gt 5 ] || echo "no color on a terminal"
TERM=dumb script -qec "$COATI doctor" /dev/null </dev/null | grep "$esc"
true
