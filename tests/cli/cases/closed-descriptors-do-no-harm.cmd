"$COATI" list --kind software >&- 2>err && echo "ended with 0"
cat err
"$COATI" stat --json -o out -e page-faults true <&- >&- 2>&- && is_json out
