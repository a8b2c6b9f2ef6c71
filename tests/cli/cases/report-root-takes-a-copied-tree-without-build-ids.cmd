# devices and inodes are others there: the size of what was mapped decides, or the user
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) int spin_here(long n) { SPIN(n); return 0; }
int main(void) { return spin_here(100000000); }
C
cc -O1 -Wl,--build-id=none -o p p.c
"$COATI" record -q --no-pack -o rec.data -- ./p
mkdir -p "tree$PWD" "other$PWD" "real/$PWD"
cp p "tree$PWD/p"
# another version: its code is some pages longer
{ cat p.c; echo 'const char room[20000] __attribute__((section(".text.room"))) = { 1 };'; } >q.c
sed -i 's/spin_here/wrong_name/g' q.c
cc -O1 -Wl,--build-id=none -o "other$PWD/p" q.c 2>err || cat err
rm p
named() { # OPTION...: what the function with the most weight in p is called
	"$COATI" report -q --csv "$@" rec.data | awk -F , '$2 == "p" { print $1; exit }'
}
named
named --root tree
case $(named --root other) in *wrong_name*) echo "the other one was taken" ;; *) echo "the other one is refused" ;; esac
"$COATI" report -v --root other rec.data | grep -o 'is another file than the recorded one, whose code was mapped with [0-9]* bytes; --trust uses it anyway'
"$COATI" report -v --root other --trust rec.data 2>/dev/null | grep -c 'is another file'
named --root other --trust | grep -c -e wrong_name -e 'p!'
# links inside the tree lead to places inside the tree
rm -r real
mkdir -p "real/store"
mv "tree$PWD/p" real/store/p
mkdir -p "real$PWD"
ln -s /store/p "real$PWD/p"
named --root real
