"$COATI" record -q sh -c 'exit 7'
echo $?
"$COATI" record -q sh -c 'kill -9 $$'
echo $?
"$COATI" record -q ./nothing-there
echo $?
: >plain
"$COATI" record -q ./plain
echo $?
ls -A
