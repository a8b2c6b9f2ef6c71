# 60 libraries where 300 descriptors are allowed. The first library is kept open and the last one is
# not. Both are deleted: the first has its names, the last has none (no stack is unwound while the
# program runs, which would open it). A library that is not deleted has its names in any case.
. "$CLI/gone-files.sh"
cat >lib.c <<'C'
#include <spin.h>
void spin_here(void) { SPIN(40000000); }
C
cat >p.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#define NR 60
static void stop_at(const char *said, const char *go)
{
	fclose(fopen(said, "w"));
	while (access(go, F_OK));
}
int main(void)
{
	void (*spin[NR + 1])(void);
	cpu_set_t one; /* mappings are reported in their order by one CPU's ring alone */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 1; i <= NR; i++) {
		char name[32];
		snprintf(name, sizeof(name), "./lib%d.so", i);
		void *lib = dlopen(name, RTLD_NOW);
		if (!lib || !(*(void **)&spin[i] = dlsym(lib, "spin_here")))
			return 3;
		/* the recorder has the first before there are others, and no room when the last two come */
		if (i == 1)
			stop_at("first", "others");
		if (i == NR - 2)
			stop_at("mapped", "last");
	}
	stop_at("all", "go");
	spin[1]();
	spin[NR - 1]();
	spin[NR]();
	return 0;
}
C
cc -O1 -shared -fPIC -Wl,--build-id=none -o kept.so lib.c
cc -O1 -o p p.c -ldl
# of its 22 files some are the program and what it is linked with
is_full()
{
	[ "$(find /proc/[0-9]*/fd -lname "$PWD/lib*.so" 2>/dev/null | wc -l)" -ge 19 ]
}
scenario()
{
	rm -f first others mapped last all
	for i in $(seq 60); do cp kept.so "lib$i.so"; done
	(ulimit -n 300 && as "$tool" record -g fp -o run.data -- ./p 2>told) &
	wait_for first
	until_held lib1.so
	: >others
	wait_for mapped
	wait_until is_full
	: >last
	wait_for all
	rm lib1.so lib60.so
	: >go
	wait
	grep -c 'mapped files could not be kept open, only 22 were: .*; ulimit -n raises the limit$' told
	named spin_here lib1.so
	named spin_here lib59.so
	named spin_here lib60.so
}
by_both
