# of a program without symbols each function has a name of its own, made of where it starts, and none has another's
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void much(void) { SPIN(100000000); }
__attribute__((noinline)) void little(void) { SPIN(40000000); }
int main(void) { much(); little(); return 0; }
C
cc -O1 -o full p.c
strip -o p full
"$COATI" record -q -- ./p
"$COATI" report -q --csv | grep ',p,' >out
for name in much little; do
	start=$(nm full | sed -n "s/^0*\([0-9a-f]*\) . $name\$/\1/p")
	grep -c "^p!fn_$start,p," out
done
# whatever else is in there has no name of a symbol either
cut -d , -f 1 out | grep -v -e '^p!' -e '@plt$'
true
