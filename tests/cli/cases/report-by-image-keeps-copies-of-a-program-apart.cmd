# two files with one build ID, two with one name: what each of them did is its own
cat >p.c <<'C'
#include <spin.h>
#include <stdlib.h>
__attribute__((noinline)) void spin(long n) { SPIN(n); }
int main(int argc, char **argv) { spin(atol(argv[1])); return argc < 0; }
C
mkdir a b
cc -O1 -Wl,--build-id=sha1 -o a/first p.c
cp a/first b/second
cc -O1 -DOTHER -Wl,--build-id=none -o b/first p.c
"$COATI" record -q -o rec.data -- sh -c './a/first 40000000; ./b/second 40000000; ./b/first 40000000'
check() { # OPTION...
	"$COATI" report -q "$@" --by image --csv rec.data | awk -F , -v here="$PWD" '
		$2 == "first" || $2 == "second" {
			sub(here, "", $1); sub(here, "", $4)
			print $1, $4, ($9 > 0 ? "has weight" : "has none")
		}' | sort
}
check
check --no-local >packed
check | cmp - packed
"$COATI" report -q --csv --no-local rec.data | grep -c '^spin,'
# the weights add up to what the function has
"$COATI" report -q --csv --show '^spin$' rec.data | awk -F , '$1 == "spin" { n++; sum += $9 } END { print n, (sum > 0) }'
