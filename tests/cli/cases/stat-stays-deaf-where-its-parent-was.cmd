# nohup and background jobs ignore signals: so do we.
env --ignore-signal=INT "$COATI" stat -q -e page-faults -o out -- sh -c 'touch started; sleep 0.3; exit 4' &
wait_for started
kill -INT $!
wait $!
echo $?
