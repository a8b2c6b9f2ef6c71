/* SPDX-License-Identifier: MIT */
/*
 * What is recorded in the guest: main() calls outer(), middle() and inner(), which spends three
 * quarters of its time in leaf_three() and one in leaf_one(). No call is inlined, none is a jump,
 * every frame is small. With an argument a timer interrupts the leaves every 8 ms, and
 * spin_in_handler() runs above them.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

#define APART  __attribute__((noinline, noclone, noipa))
#define ROUNDS 1000

static volatile unsigned long sink;
static volatile sig_atomic_t nr_signals;

static void spin(unsigned long n)
{
	while (n--)
		__asm__ volatile("" : "+r"(n));
}

APART void leaf_one(unsigned long n)
{
	spin(n);
}

APART void leaf_three(unsigned long n)
{
	spin(3 * n);
}

APART unsigned long inner(unsigned long n)
{
	volatile unsigned long local[8] = { n };

	leaf_one(n);
	leaf_three(n);
	return local[0];
}

APART unsigned long middle(unsigned long n)
{
	volatile unsigned long local[24] = { n };

	local[1] = inner(local[0]);
	return local[1] + 1;
}

APART unsigned long outer(unsigned long n)
{
	return middle(n) + 1;
}

APART void spin_in_handler(unsigned long n)
{
	spin(n);
}

APART void on_alarm(int number)
{
	(void)number;
	spin_in_handler(100000);
	nr_signals++;
}

int main(int argc, char **argv)
{
	struct itimerval each = { { 0, 8000 }, { 0, 8000 } };

	(void)argv;
	if (argc > 1) {
		sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
		setitimer(ITIMER_REAL, &each, NULL);
	}
	for (int i = 0; i < ROUNDS; i++)
		sink += outer(4001);
	return argc > 1 && !nr_signals;
}
