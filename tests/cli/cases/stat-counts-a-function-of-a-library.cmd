libc=$(ldd "$HELPERS/call-libc" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
"$COATI" stat --json -e "uprobe:$libc:getppid" -- "$HELPERS/call-libc" 123 >out && is_json out
grep -o '"count":[0-9]*' out
