"$COATI" stat --json -qo out -e page-faults -- sh -c ": $(printf '\377\001\"')" 2>/dev/null; is_json out
