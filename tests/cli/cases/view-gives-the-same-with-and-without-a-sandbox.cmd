# sources, assembly and exports come through broker and worker; every answer is the one of a server that is not confined
cat >p.c <<'C'
#include <spin.h>
__attribute__((noinline)) static long spin(long n) { SPIN(n); return n; }
int main(void) { return spin(30000000) == 1; }
C
cc -O1 -g -o p p.c
"$COATI" record -q --no-pack -- ./p
"$COATI" view -q --no-open >confined & first=$!
"$COATI" view -q --no-open --no-sandbox >free & second=$!
wait_until test -s confined
wait_until test -s free
ask() # WHAT
{
	for server in confined free; do
		code=$(curl -s -o answer.$server -w '%{http_code}' "$(cat $server)$1")
		echo "$1 $code" >>codes.$server
	done
	cmp answer.confined answer.free
	echo "$1 $(grep -c spin answer.free)" >>spins
}
for i in $(seq 0 40); do ask "source?file=$i"; done
for i in $(seq 0 9); do ask "assembly?fn=$i"; done
for format in folded speedscope firefox chrome perfetto pprof json; do ask "export?format=$format"; done
cmp codes.confined codes.free
echo "sources: $(grep -c '^source.* 200$' codes.confined), with spin: $(grep -c '^source.* [1-9][0-9]*$' spins)"
echo "assembly with spin: $(grep -c '^assembly.* [1-9][0-9]*$' spins)"
echo "exports: $(grep -c '^export.* 200$' codes.confined)"
kill $first $second
wait $first && wait $second && echo ended
