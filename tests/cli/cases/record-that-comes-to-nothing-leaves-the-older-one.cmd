echo precious >coati.data
"$COATI" record -q ./nothing-there 2>/dev/null
"$COATI" record -q -p 999999999 2>/dev/null
"$COATI" record -q -e no-such-event true 2>/dev/null
cat coati.data
ls -A
"$COATI" record -q true
cat coati.data.old
"$COATI" dump --stats >out || echo "dump: $?"
