# 300 threads, each with CPU time for a sample at least, below a few frames, while 10,000 mappings of code come: each sample is complete, flagged, without a user stack, or lost
cat >many.c <<'C'
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <spin.h>
static volatile unsigned long sink;
__attribute__((noinline)) static unsigned long down(int n) { if (n) return down(n - 1) + sink; SPIN(2000000); return sink; }
static void *run(void *n) { down(10); return n; }
int main(void)
{
	pthread_t t[300];
	for (int i = 0; i < 300; i++) if (pthread_create(&t[i], 0, run, 0)) return 1;
	for (int i = 0; i < 10000; i++) /* every other one can be written to: they stay apart */
		if (mmap(0, 4096, PROT_READ | PROT_EXEC | (i % 2 ? PROT_WRITE : 0), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 2;
	for (int i = 0; i < 300; i++) pthread_join(t[i], 0);
	return 0;
}
C
cc -O1 -pthread -fomit-frame-pointer -o many many.c
"$COATI" record -q -g bpf -o b.data -- ./many || echo "status $?"
"$COATI" report -q -i b.data --json --by function >b.json
grep -a -o -E '(samples|^lost|^stacks_(end|gap|unmapped|truncated|limit|bad|none|pointers))=[0-9]+' b.data | awk -F= '
	$1 == "samples" { n = $2 } $1 ~ /^stacks/ { sum += $2 } $1 == "stacks_end" { end = $2 } $1 == "stacks_none" { none = $2 }
	END { if (n != sum || n < 100) print n, "samples,", sum, "accounted for"; if (end < 0.95 * (n - none)) print end, "of", n - none, "are complete" }'
python3 -c 'import json
j = json.load(open("b.json"))
n = sum(r["self_samples"] for r in j["rows"])
print(n, "samples in the rows of", j["quality"]["samples"]) if n != j["quality"]["samples"] else None'
