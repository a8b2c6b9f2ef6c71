cp "$HELPERS/shift" . && chmod 755 shift
as_user true
setpriv --reuid 65534 --regid 65534 --clear-groups ./shift &
load=$!
wait_until grep -qsx shift /proc/$load/comm
as_user ./coati top --once --json -q -d 500ms -F 999 -p $load >out || cat out
grep -q '"function":"alpha"' out || cat out
as_user ./coati top --once -q -a
echo $?
kill $load
