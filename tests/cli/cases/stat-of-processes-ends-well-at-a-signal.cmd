"$COATI" stat --json -e page-faults -I 10ms -p $$ >out &
while [ ! -s out ]; do sleep 0.01; done
kill -TERM $!
wait $!
echo $?
is_json out
