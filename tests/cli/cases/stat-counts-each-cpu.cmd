"$COATI" stat --json -a --per-cpu -d 20ms -e context-switches >out && is_json out
[ "$(grep -o '"scope":"cpu:[0-9]*"' out | sort -u | wc -l)" = "$(getconf _NPROCESSORS_ONLN)" ] || cat out
"$COATI" stat -C 0 -A -d 20ms -e cpu-clock | grep -c '^ cpu:0 .* ms .*cpu-clock' 
