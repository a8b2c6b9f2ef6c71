"$COATI" list --json >out 2>/dev/null && is_json out
grep -c '^{"schema":"coati.list.v1","events":\[{"event":' out
grep -o '"event":"page-faults","kind":"software"' out
