one=$("$COATI" stat --json -qo - -e page-faults -- sh -c '"$0" 3000; :' "$HELPERS/touch-pages" | count_of page-faults)
none=$("$COATI" stat --json -qo - -i -e page-faults -- sh -c '"$0" 3000; :' "$HELPERS/touch-pages" | count_of page-faults)
[ "$one" -ge 3000 ] || echo "with children: $one"
[ "$none" -lt 3000 ] || echo "without children: $none"
