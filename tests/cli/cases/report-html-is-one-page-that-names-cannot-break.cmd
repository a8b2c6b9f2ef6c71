cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void evil(void) { SPIN(80000000); }
int main(void) { evil(); return 0; }
C
cc -O1 -c p.c
objcopy --redefine-sym evil='</script><b>' p.o
cc -o p p.o
"$COATI" record -q -- ./p
"$COATI" report -q --html page.html
grep -c '</script><b>' page.html
read_page page.html texts >data && is_json data && grep -c '</script><b>' data
read_page page.html meta >data && is_json data && echo fine
