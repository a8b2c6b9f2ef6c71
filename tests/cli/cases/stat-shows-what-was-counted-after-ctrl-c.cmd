# In a terminal of its own the interrupt reaches the command too.
{ wait_for started; printf '\003'; wait_until grep -qs "ended by SIGINT" out; } |
	script -qec "$COATI stat -q -e page-faults -o out -- sh -c 'touch started; exec sleep 30'" /dev/null >/dev/null
echo $?
grep -c page-faults out
grep -c "ended by SIGINT" out
