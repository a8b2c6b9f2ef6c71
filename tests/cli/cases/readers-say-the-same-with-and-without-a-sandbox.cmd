# what a verb prints and writes, and how it ends, does not depend on whether it is confined: inputs and outputs by every
# kind of name, names of C++ and of compressed debug data, sources and instructions
cat >p.cc <<'C'
#include <spin.h>
#include <vector>
namespace outer { template <class T> struct box { __attribute__((noinline)) static long spin(T n) { SPIN(n); return n; } }; }
int main() { std::vector<long> v(1, outer::box<long>::spin(30000000)); return v[0] == 1; }
C
g++ -O1 -g -gz -o p p.cc
"$COATI" record -q --no-pack -- ./p
"$COATI" record -q -o - -- ./p >stream
"$COATI" record -q -g dwarf -o dwarf.data -- ./p
mkdir folder && cp coati.data folder/data
same()
{
	how=0
	"$COATI" "$@" >confined 2>confined.err 5<coati.data 6<stream || how=$?
	[ ! -e file ] || mv file confined.file
	status=0
	COATI_NO_SANDBOX=1 "$COATI" "$@" >free 2>free.err 5<coati.data 6<stream || status=$?
	[ ! -e file ] || mv file free.file
	[ "$how" = "$status" ] || echo "$*: status $how, not $status"
	cmp -s confined free && cmp -s confined.err free.err || { echo "$*: prints something else"; diff confined free | head -n 3; diff confined.err free.err | head -n 3; }
	case "$*" in *file*) cmp confined.file free.file; rm -f confined.file free.file ;; esac
	echo "$((lines = lines + 1)) $(wc -l <free)" >>counts
}
lines=0
same report
same report dwarf.data
same report --tree -i coati.data -i dwarf.data
same report -i /dev/fd/5
same report -i /dev/fd/6
same report -i /proc/self/fd/5
same report folder
same report --by line --csv
same report --source 'outer::box<long>::spin(long)'
same report -o file
same report -o "$PWD/file"
same report -o /dev/stdout
same report -o /dev/null
same report -o /dev/full
same report -o missing/other
same report --html file
same report --mangled --no-local
same report --debug-dirs "$PWD:/usr/lib/debug"
same report nothing
same report p.cc
same export -f perfdata --check -o file
same export -f pprof --check -o file
same export -f folded -o -
same diff coati.data dwarf.data
same diff coati.data /dev/fd/6
same dump
same dump -o file
same dump --json /dev/fd/6
same dump - <stream
same trace
same trace /dev/fd/6
same why request
same autopsy p.cc
same autopsy --directory folder --list
cat stream | "$COATI" report -q --csv -i - | cut -d, -f1 | grep -c 'box<long>::spin'
"$COATI" report -q --csv -i /dev/stdin <coati.data | cut -d, -f1 | grep -c 'box<long>::spin'
"$COATI" report -q --csv - <coati.data | cut -d, -f1 | grep -c 'box<long>::spin'
# they said something
awk '$2 > 5' counts | wc -l
