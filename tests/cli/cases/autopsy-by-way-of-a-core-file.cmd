ulimit -c unlimited
for memory in rec ""; do
	sh -c '"$HELPERS/fly" "$1" 11; :' sh "$memory" >/dev/null 2>&1
	[ -e core ] || mv core.* core
	"$COATI" autopsy -n 2 core | grep -E '^fly|^thread|works on|  in |value=99|text=|open task'
	rm core
done
