"$HELPERS/make-flight" patient.live <"$CLI/patient.txt"
"$COATI" autopsy --json patient.live >out
is_json out && echo json
grep -o '"schema":"coati.autopsy.v1"' out
grep -o '"ended":"[^"]*"' out
grep -o '"name":"main","nr_events":[0-9]*' out
grep -o '"open_tasks":.."id":8,"parent":0' out
