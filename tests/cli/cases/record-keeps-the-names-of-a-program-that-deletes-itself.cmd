# as an ordinary user the program is found through /proc/PID/exe
. "$CLI/gone-files.sh"
cat >kept.c <<'C'
#include <spin.h>
#include <unistd.h>
__attribute__((noinline)) void spin_here(void) { SPIN(80000000); }
int main(int argc, char **argv)
{
	if (argc != 1 || unlink(argv[0]))
		return 3;
	do spin_here(); while (access("go", F_OK));
	return 0;
}
C
cc -O1 -o kept kept.c
scenario()
{
	cp kept p
	as "$tool" record -q -g fp -o run.data -- ./p &
	until_held p
	[ ! -e p ] || wait_until test ! -e p
	: >go
	wait
	named spin_here p
}
by_both
