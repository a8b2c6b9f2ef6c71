env --default-signal=INT "$COATI" stat -q -e page-faults -o out -- sh -c 'touch started; exec sleep 30' &
wait_for started
kill -INT $!
wait $!
echo $?
grep -c page-faults out
rm started
"$COATI" stat -q -e page-faults -o out -- sh -c 'touch started; exec sleep 30' &
wait_for started
kill -TERM $!
wait $!
echo $?
grep -c "ended by SIGTERM" out
