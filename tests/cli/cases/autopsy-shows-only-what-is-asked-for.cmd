"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
"$COATI" autopsy -t 4243 -n 1 --logs 1 patient.live
"$COATI" autopsy --last 100us -t 4242 patient.live
