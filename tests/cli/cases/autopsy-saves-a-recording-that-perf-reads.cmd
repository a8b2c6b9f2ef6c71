"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
"$COATI" autopsy -o saved.data patient.live
perf script -i saved.data 2>/dev/null | grep -c coati/live
