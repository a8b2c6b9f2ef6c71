# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Cases that look at a screen: coati in a terminal of tmux. The server is of the case's folder alone.

screens=0

# tm WORDS...: a command for it.
tm()
{
	tmux -S "$PWD/tmux-$screens" -f /dev/null "$@"
}

# open_screen COLUMNS ROWS WORDS...: run coati with these words. Behind it comes its status, and a
# shell, so that the terminal can be looked at.
open_screen()
{
	columns=$1 rows=$2
	shift 2
	screens=$((screens + 1))
	{
		echo "trap : INT" # the terminal sends it to the shell, too
		echo "stty -a >stty-before"
		printf "'%s' " "$COATI" "$@"
		# each file is whole when it has its name
		echo '; echo "status $?" >new; stty -a >stty-new; mv new status; mv stty-new stty-after; exec sh'
	} >start
	LC_ALL=C.UTF-8 TERM=xterm-256color tm new-session -d -x "$columns" -y "$rows" "exec sh ./start" || return
	# also when the case takes too long
	# shellcheck disable=SC2154 # the case's own
	trap 'tm kill-server 2>/dev/null; kill "${load-}" 2>/dev/null' EXIT
	trap 'exit 124' TERM INT HUP
}

# screen: what is to be seen.
screen()
{
	tm capture-pane -p
}

# shows PATTERN: whether it is there.
shows()
{
	screen | grep -q -e "$1"
}

# row N: the Nth row of the table, which begins behind its head.
row()
{
	screen | sed -n "/^ *\(self\|share\|now\) /,\$p" | sed -n "$(($1 + 1))p"
}

# first_is PATTERN: whether the first row has it.
first_is()
{
	row 1 | grep -q -e "$1"
}

keys()
{
	tm send-keys "$@"
}

# until_shows PATTERN, until_first PATTERN: wait for it; when it never comes the case ends.
until_shows()
{
	wait_until shows "$1" || { screen; exit 1; }
}

until_first()
{
	wait_until first_is "$1" || { screen; exit 1; }
}
