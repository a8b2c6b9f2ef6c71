# In a terminal of its own the interrupt reaches the command too.
# A key that is typed while the terminal is being set up can be lost: it is typed again after some seconds.
is_counted() { grep -qs "ended by SIGINT" out; }
type_it() { printf '\003'; for i in $(seq 300); do is_counted && return; sleep 0.01; done; return 1; }
{ wait_for started; type_it || type_it || type_it || type_it; } |
	script -qec "$COATI stat -q -e page-faults -o out -- sh -c 'touch started; exec sleep 30'" /dev/null >/dev/null
echo $?
grep -c page-faults out
grep -c "ended by SIGINT" out
