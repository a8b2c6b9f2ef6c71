"$COATI" stat --json -o out -e duration_time,user_time,system_time -- sleep 0.01 && is_json out
[ "$(count_of duration_time <out)" -ge 10000000 ] || cat out
[ "$(count_of duration_time <out)" = "$(json_number wall_ns <out)" ] || cat out
[ "$(count_of user_time <out)" = "$(json_number user_ns <out)" ] || cat out
