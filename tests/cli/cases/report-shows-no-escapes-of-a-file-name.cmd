name=$(printf 'a\033[31m.data')
"$COATI" record -q -o "$name" -- true
"$COATI" report -n 1 >out
"$COATI" report -n 1 "$name" >>out
"$COATI" report --callers nobody 2>>out
grep -c 'a?\[31m\.data' out
! grep -q "$(printf '\033')" out || echo "an escape came through"
