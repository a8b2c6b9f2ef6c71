# nohup and background jobs ignore signals: so do we.
env --ignore-signal=INT "$COATI" stat -q -e page-faults -o out -- sh -c 'touch started; until [ -e end ]; do sleep 0.02; done; exit 4' &
wait_for started
kill -INT $!
: >end
wait $!
echo $?
