# in turns, so that every stretch of time has both
cat >p.c <<'C'
#define WORK for (volatile long i = 0; i < 100000; i++)
__attribute__((noinline)) void NAME(void) { WORK; }
__attribute__((noinline)) void both(void) { WORK; }
int main(void) { for (int i = 0; i < 600; i++) { NAME(); both(); } return 0; }
C
cc -O1 -DNAME=old_one -o p.old p.c
cc -O1 -DNAME='new_one' -o p.new p.c
"$COATI" record -q -e task-clock:u -F 5000 -o a.data -- ./p.old
"$COATI" record -q -e task-clock:u -F 5000 -o b.data -- ./p.new
"$COATI" diff a.data b.data | sed -n '/^changed/,/^not/p' | grep -o '[a-z]*[*] *[a-z]*_one.*'
"$COATI" diff -q a.data b.data | grep -c ' both .*p.new'
"$COATI" diff -q a.data b.data --html page.html
read_page page.html diff >data && is_json data && echo fine
grep -o '"side":"[a-z]*"' data
grep -o '"schema":"[a-z0-9.]*"' data
