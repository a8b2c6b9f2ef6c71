/* SPDX-License-Identifier: MIT */
/* One of two libraries of the same size whose frames differ: a walk by the other one's rules goes
 * wrong. */
static volatile unsigned long sink;

#if NUMBER == 1
#define BYTES 64
#else
#define BYTES 1024
#endif

__attribute__((noinline)) static unsigned long inner(unsigned long n)
{
	volatile char room[BYTES];

	for (unsigned long i = 0; i < n; i++) {
		room[i % BYTES] = (char)i;
		sink += i;
	}
	return (unsigned long)room[n % BYTES];
}

__attribute__((noinline, visibility("default"))) unsigned long work(unsigned long n)
{
	volatile char room[BYTES];

	room[n % BYTES] = (char)inner(n);
	return (unsigned long)room[n % BYTES] + sink;
}
