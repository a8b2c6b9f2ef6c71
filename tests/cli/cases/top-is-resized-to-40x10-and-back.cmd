. "$CLI/screen.sh"
"$HELPERS/shift" &
load=$!
open_screen 80 24 top -p $load --interval 200ms
until_first alpha
for view in Escape t f '?' d; do
	keys "$view"
	tm resize-window -x 40 -y 10
	until_shows '?help'
	[ "$(screen | LC_ALL=C.UTF-8 wc -L)" -le 40 ] || screen
	tm resize-window -x 10 -y 3
	sleep 0.3
	tm resize-window -x 200 -y 60
	until_shows 'own .* CPU .* of 64 MiB'
	keys Escape Escape Escape
done
tm resize-window -x 80 -y 24
until_first alpha
until_shows '^ coati top '
kill $load
keys q
wait_for status
cat status
