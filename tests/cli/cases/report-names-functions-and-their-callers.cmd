# two functions without frame pointers that take three quarters and one quarter of the time
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void much(void) { SPIN(150000000); }
__attribute__((noinline)) void little(void) { SPIN(50000000); }
__attribute__((noinline)) void both(void) { much(); little(); __asm__ volatile(""); }
int main(void) { both(); return 0; }
C
cc -O1 -fomit-frame-pointer -fno-inline -o p p.c
"$COATI" record -q -- ./p
"$COATI" report --csv | sed -n 's/^\([a-z]*\),p,.*/\1/p' | head -n 2
"$COATI" report --tree --min 5 | sed -n 's/.*\(main\|both\|much\|little\)  p$/\1/p'
"$COATI" report --callers much | grep -c -e " both  p" -e " main  p"
"$COATI" report --callees both | grep -c -e much -e little
"$COATI" report --json >j && is_json j && grep -o '"schema":"coati.report.v1"' j
"$COATI" report --tree --json >j && is_json j && grep -o '"schema":"coati.report.tree.v1"' j
"$COATI" report --source much --json >j && is_json j && grep -o '"schema":"coati.report.source.v1"' j
COLUMNS=60 "$COATI" report --flame | grep -c much
"$COATI" report --callers nobody || echo "status $?"
