# the perf map of a process is a link, a FIFO, a device, another user's, or 100 GB: the report goes on and says why it has no names
cat >p.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
#ifdef __x86_64__
	static const unsigned char code[] = { 0xb9, 0x40, 0x0d, 0x03, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#else
	static const unsigned int code[] = { 0x5281a800, 0x72a00060, 0x71000400, 0x54ffffe1, 0xd65f03c0 };
#endif
	void *at = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*fn)(void);
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, (char *)at + sizeof(code));
	memcpy(&fn, &at, sizeof(fn));
	printf("%d %lx\n", getpid(), (unsigned long)at);
	fflush(stdout);
	while (clock() < CLOCKS_PER_SEC / 20)
		fn();
	return 0;
}
C
cc -O1 -o p p.c
"$COATI" record -q --no-pack -- ./p >who
read -r pid at <who
map=/tmp/perf-$pid.map
trap 'rm -f "$map"' EXIT
try()
{
	timeout 20 "$COATI" report -v >out 2>err || echo "$1: status $?"
	# as many samples as ever are in the code without names
	echo "$1: $(grep -c -e '  \[jit' -e '  \[anon' out) $(cat out err | grep -o "perf-$pid.map.*" | sort -u | head -n 1 | sed "s/$pid/PID/g")"
	rm -rf "$map"
}
echo "$at 40 good name" >other
ln -s "$PWD/other" "$map" && try link
mkfifo "$map" && try fifo
mknod "$map" c 1 5 && try device
cp other "$map" && chown 65533 "$map" && try owner
cp other "$map" && truncate -s 100G "$map" && try sparse
mkdir "$map" && try folder
cp other "$map" && "$COATI" report -q --csv | grep -c '^good name,'
