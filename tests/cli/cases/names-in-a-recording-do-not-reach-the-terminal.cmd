# an event, a program and a function whose names would clear the screen, in all that is printed as text
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void evil(void) { SPIN(40000000); }
int main(void) { evil(); return 0; }
C
cc -O1 -c p.c
objcopy --redefine-sym evil="$(printf 'e\033[2Jl')" p.o
name=$(printf 'p\033[2J\302\233')
cc -o "$name" p.o
"$COATI" record -q -e cpu-clock/name=AAAAAAAA/ -- "./$name" 2>/dev/null
LC_ALL=C sed -i 's/AAAAAAAA/A\x1b[2JAAA/g' coati.data
for view in dump "dump --stats" "dump --json" report "report --tree" "report --flame" "report --json" "report --csv" "report -v" \
	"report --by event" "report --by comm" "report --callers x" "report --source m*" "dump -e nobody" "report --by label:x"; do
	# shellcheck disable=SC2086
	"$COATI" $view >out 2>&1
	LC_ALL=C grep -q -e "$(printf '\033')" -e "$(printf '\302\233')" out && echo "coati $view: obeyed"
	[ -s out ] || echo "coati $view: nothing"
done
"$COATI" dump --stats | grep -c 'A\\x1b\[2JAAA'
