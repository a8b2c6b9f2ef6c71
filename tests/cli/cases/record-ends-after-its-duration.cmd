"$COATI" record -q -d 50ms sleep 1000
echo $?
"$COATI" dump --stats >out || echo "dump: $?"
"$COATI" record -q -e cpu-clock:u -p $$ -d 20ms
echo $?
"$COATI" record -q -D 20ms -d 20ms -e cpu-clock:u sh -c 'while :; do :; done'
echo $?
