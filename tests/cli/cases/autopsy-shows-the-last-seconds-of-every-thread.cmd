"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
"$COATI" autopsy patient.live
