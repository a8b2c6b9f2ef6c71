# names that came with the recording are the ones that the file gives, wherever the linker put the code
cat >p.c <<'END'
static volatile unsigned long sum;
static __attribute__((noinline)) void first(unsigned n) { for (unsigned i = 0; i < n; i++) sum += i * n; }
static __attribute__((noinline)) void second(unsigned n) { for (unsigned i = 0; i < n; i++) sum += i ^ n; }
int main(void)
{
	for (unsigned i = 0; i < 5000; i++) {
		first(10000 + i % 3);
		second(5000 + i % 3);
	}
	return 0;
}
END
names()
{
	"$COATI" report -q --csv "$@" recording | cut -d , -f 1-5 | grep -c 'first\|second\|main'
	"$COATI" report -q --csv "$@" recording | grep -v kernel >"table$#"
}
for how in -pie -no-pie -static -fuse-ld=lld; do
	cc -O2 $how -o p p.c 2>/dev/null || continue
	"$COATI" record -q -F 2000 -e cpu-clock -o recording -- ./p 2>err || cat err
	names >/dev/null
	found=$(names --no-local)
	[ "$found" -ge 2 ] || echo "$how: $found names"
	cmp table0 table1 || echo "$how: other names without the file"
done
