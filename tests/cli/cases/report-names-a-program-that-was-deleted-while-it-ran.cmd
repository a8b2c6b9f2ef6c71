# the file is gone before the first sample is looked at: the mapping itself is asked while the program runs
cat >p.c <<'C'
#include <spin.h>
#include <unistd.h>
__attribute__((noinline)) void spin_here(void) { SPIN(80000000); }
int main(int argc, char **argv) { (void)argc; if (unlink(argv[0])) return 3; spin_here(); return 0; }
C
cc -O1 -o kept p.c
cp kept p
"$COATI" record -q -o run.data -- ./p
[ ! -e p ] || echo "it is still there"
"$COATI" report -q -i run.data --csv | grep -c '^spin_here,p,'
# deleted after the recording, which has no names: none is shown, and no wrong one
cp kept p
"$COATI" record -q --no-pack -o bare.data -- ./p
"$COATI" report -v -i bare.data >out
grep -c ' spin_here  ' out
grep -c ' \[p\]  *p$' out
grep -o '^# p: open .*/p: No such file or directory' out | sed 's,open .*/,open ,'
