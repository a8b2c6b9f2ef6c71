libc=$(ldd "$HELPERS/touch-pages" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
"$COATI" stat --json -e "uprobe:$libc:madvise" -- "$HELPERS/touch-pages" 5 >out && is_json out
grep -o '"count":[0-9]*' out
