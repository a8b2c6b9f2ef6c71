"$COATI" stat --json -D 40ms -e page-faults -- sh -c '"$0" 4000; sleep 0.2; "$0" 100' "$HELPERS/touch-pages" >out && is_json out
n=$(count_of page-faults <out)
{ [ "$n" -ge 100 ] && [ "$n" -lt 4000 ]; } || cat out
