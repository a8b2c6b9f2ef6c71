"$COATI" record -q -e task-clock:u -F 5000 -o a.data -- "$HELPERS/phases" 1000 100
"$COATI" diff a.data a.data
