# what waits is the function that called the scheduler; the scheduler is no answer
"$COATI" record -q --off-cpu -o rec.data -- sleep 0.1 2>err || cat err
self() { # COMMAND...: the weight of its own of the row $1
	row=$1
	shift
	"$COATI" report -q --mode off --csv rec.data "$@" | awk -F , -v row="$row" '$1 == row { print $9 }'
}
slept=$(self sleep --by wait)
[ "$slept" -ge 95000000 ] && echo slept
[ "$(self do_nanosleep)" = "$slept" ] && echo "do_nanosleep has all of it"
"$COATI" report -q --mode off --csv rec.data | grep -c -e '^schedule' -e '^__schedule'
"$COATI" report -q --mode off --tree rec.data | grep -c -e '─ schedule' -e ' schedule '
"$COATI" export -q --mode off -f folded -o - rec.data | grep -c ';schedule_\[k]'
# who looks for it by name still finds the stacks
"$COATI" report -q --mode off --focus '^schedule$' --csv rec.data | grep -c '^do_nanosleep,'
