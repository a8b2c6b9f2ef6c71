. "$CLI/screen.sh"
"$HELPERS/shift" &
load=$!
open_screen 80 24 top -p $load --window 2s --interval 200ms
until_first alpha
kill -USR1 $load
until_first beta
# another kind of row
keys 4
until_first "$load shift"
keys 3
until_first "$load/$load shift"
keys 1 /
keys bet Enter
until_first beta
no_alpha() { ! shows alpha; }
wait_until no_alpha || screen
kill $load
until_shows ' ended '
keys q
wait_for status
cat status
