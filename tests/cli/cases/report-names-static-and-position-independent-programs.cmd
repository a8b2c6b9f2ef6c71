cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void much(void) { SPIN(90000000); }
__attribute__((noinline)) void caller(void) { much(); __asm__ volatile(""); }
int main(void) { caller(); return 0; }
C
for how in "-static" "-fpie -static-pie" "-fpie -pie" "-fno-pie -no-pie"; do
	# shellcheck disable=SC2086 # the words of how
	cc -O1 -fomit-frame-pointer $how -o p p.c || continue
	"$COATI" record -q -o p.data -- ./p
	echo "$how: $("$COATI" report -q -i p.data --csv | sed -n '2s/,.*//p')" \
		"$("$COATI" report -q -i p.data --callers much | grep -o -e ' caller  p$' -e ' main  p$' | tr -d '\n')"
done
