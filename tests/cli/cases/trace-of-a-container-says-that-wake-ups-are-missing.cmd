# numbers of threads in wake-ups are those of the first PID namespace: the data quality line says
# that, and gives no advice that does not help
unshare -p -f --mount-proc "$COATI" record -q --trace -o n.data -- sleep 0.05
"$COATI" trace -q n.data | grep '^#' | tr -s ' \n' ' ' >quality
grep -o 'in its own PID namespace' quality
grep -o 'record from outside the container' quality
grep -c 'need root' quality
"$COATI" trace -q --json n.data | grep -o '"wakes_by":"[a-z]*"'
