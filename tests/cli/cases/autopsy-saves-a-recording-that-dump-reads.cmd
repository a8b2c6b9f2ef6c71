"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
"$COATI" autopsy -o saved.data patient.live
"$COATI" dump saved.data | sed 's/.*SAMPLE/SAMPLE/' | grep -c 'SAMPLE coati/live:.*batch=trace'
"$COATI" autopsy -o - patient.live | "$COATI" dump --stats - | grep coati/live
"$COATI" trace -q saved.data | sed -n 's/^# saved.data: \([^,]*\),.*/\1/p; s/.*  \(main 4242\)$/\1/p'
