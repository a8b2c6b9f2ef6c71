"$COATI" record -q -o - sh -c 'echo hello' | "$COATI" dump -i - -T COMM | grep -c 'sh$'
"$COATI" record -q -z -o - sh -c 'echo packed' | "$COATI" dump -i - -T EXIT | wc -l
mkfifo fifo
"$COATI" dump -i fifo -T EXIT >out &
"$COATI" record -q -o fifo true
wait $!
wc -l <out
