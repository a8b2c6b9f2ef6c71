. "$CLI/screen.sh"
"$HELPERS/shift" &
load=$!
for how in q C-c TERM HUP INT; do
	rm -f status stty-after
	open_screen 80 24 top -p $load --interval 200ms
	until_shows 'coati top  pid'
	case $how in
	q | C-c) keys "$how" ;;
	*) pkill "-$how" -P "$(tm display -p '#{pane_pid}')" coati ;;
	esac
	wait_for stty-after
	cat status
	cmp stty-before stty-after
	# the screen from before, and a cursor
	! shows 'coati top  pid' || screen
	[ "$(tm display -p '#{alternate_on} #{cursor_flag}')" = "0 1" ] || tm display -p '#{alternate_on} #{cursor_flag}'
	tm kill-server
done
kill $load
