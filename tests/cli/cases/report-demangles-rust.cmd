# names as rustc makes them, of both kinds, on functions of C: so that no Rust is needed
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void old(void) { SPIN(60000000); }
__attribute__((noinline)) void fresh(void) { SPIN(60000000); }
int main(void) { old(); fresh(); return 0; }
C
cc -O1 -c p.c
objcopy --redefine-sym old=_ZN6engine5parse4line17h0123456789abcdefE \
	--redefine-sym fresh=_RNvNtCs1234_6engine5parse4word p.o
cc -o p p.o
"$COATI" record -q -- ./p
"$COATI" report -q --csv | sed -n 's/^\(engine[^,]*\),p,.*/\1/p' | sort
"$COATI" report -q --csv --mangled | grep -c -e '^_ZN6engine5parse4line17h0123456789abcdefE,p,' -e '^_RNvNtCs1234_6engine5parse4word,p,'
