"$COATI" record -q -e page-faults:u -c 1 -- "$HELPERS/touch-pages" 10 2>err || cat err
"$COATI" report --by label:user | tail -n 1
"$COATI" report --by label:thread_name --csv | grep -c '^touch-pages,'
"$COATI" report --label process_name=touch-pages --by label:process_name --csv | tail -n +2 | grep -v '^touch-pages,' | wc -l
