mkdir d
"$HELPERS/make-flight" d/4242-99.live <"$CLI/patient.txt"
"$COATI" autopsy --directory d --clean 1h
ls d
"$COATI" autopsy --directory d --clean 0s
ls d
