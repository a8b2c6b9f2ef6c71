"$COATI" stat --json -d 50ms -e page-faults -p $$ >out && is_json out
[ "$(json_number wall_ns <out)" -ge 50000000 ] || cat out
grep -c '"command":\[\]' out
