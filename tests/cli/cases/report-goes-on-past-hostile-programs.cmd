# where the program was there is now a link, a FIFO, a device, or 100 GB: the report goes on without its names and says why
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) void spin_here(void) { SPIN(60000000); }
int main(void) { spin_here(); return 0; }
C
cc -O1 -Wl,--build-id -o p p.c
cp p kept
"$COATI" record -q --no-pack -- ./p
try()
{
	timeout 20 "$COATI" report -v >out 2>err || echo "$1: status $?"
	echo "$1: $(grep -c ' spin_here  ' out) $(grep -c -e ' \[p\]  ' -e ' p![^ ]*  ' out) $(cat out err | sed -n "s,.*$PWD/,,p" | sort -u | head -n 1)"
	rm -rf p
}
rm p
mkfifo p && try fifo
mknod p c 1 5 && try device
truncate -s 100G p && try sparse
head -c 4096 kept >p && truncate -s 100G p && try sparse-program
mkdir p && try folder
head -c 4096 kept >p && try cut
: >p && try empty
try gone
cp kept p && "$COATI" report -q --csv | grep -c '^spin_here,'
