. "$CLI/screen.sh"
"$HELPERS/shift" &
load=$!
open_screen 100 24 top -p $load --interval 200ms
until_shows 'history 0:0[5-9]'
kill -USR2 $load
until_shows planted_spike
# it is some seconds ago
until_shows 'history 0:\(1[2-9]\|[2-9]\)'
keys p
until_first planted_spike
shows ' -0:[0-9][0-9] ' || screen
keys Enter
until_shows 'flame graph of this second'
shows '^planted_spike\|^main' || screen
keys d
until_shows 'against the minute before'
shows '+[0-9.]* %.* planted_spike' || screen
# back and forth by hand
keys Escape
sleep 1 # or it begins the sequence of a key
keys Left Left
until_shows ' -0:[0-9][0-9] '
keys g
until_shows ' last 10 s '
kill $load
keys q
wait_for status
cat status
