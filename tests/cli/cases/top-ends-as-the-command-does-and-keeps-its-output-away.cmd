. "$CLI/screen.sh"
open_screen 80 24 top --interval 200ms -- sh -c 'echo noise; echo noise >&2; exit 7'
until_shows ' ended '
! shows noise || screen
keys q
wait_for status
cat status
"$COATI" top --once -q -- sh -c 'exit 9' >/dev/null
echo $?
"$COATI" top --once -q -- ./nothing
echo $?
"$COATI" top --once -q -d 200ms -- sleep 100 >/dev/null
echo $?
