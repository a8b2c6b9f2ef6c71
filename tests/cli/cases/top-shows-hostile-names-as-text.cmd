. "$CLI/screen.sh"
hostile=$(printf '\033]2;pwned\007\033[2J')
"$HELPERS/shift" "$hostile" &
load=$!
"$COATI" top --once -q -d 300ms -F 999 --by thread -p $load >out
# shellcheck disable=SC2016 # a pattern of bytes
LC_ALL=C grep -q '[[:cntrl:]]' out && cat -v out
grep -q "$load/$load ?\]2;pwned" out || cat -v out
open_screen 80 24 top -p $load --interval 200ms --by thread
until_first "$load/$load ?\]2;pwned"
[ "$(tm display -p '#{pane_title}')" != pwned ] || echo "a name has set the title"
keys t
until_shows 'call tree of ?\]2;pwned'
keys q
kill $load
wait_for status
cat status
