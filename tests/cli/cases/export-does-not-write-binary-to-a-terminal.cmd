"$COATI" record -q -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 10 2>err || cat err
script -qec "$COATI export -f pprof -o -" /dev/null </dev/null | tr -d '\r'
script -qec "$COATI export -q -f folded -o -" /dev/null </dev/null | grep -c ';main '
