/* SPDX-License-Identifier: MIT */
/*
 * templates ROUNDS: sleeps in a function whose name is that of a C++ template, called by one whose
 * name is long and has nothing to leave out.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LONG the_caller_of_it_has_a_name_that_is_longer_than_a_line_has_room_for_and_ends_here

void store_wait(void) __asm__("_ZN3app5StoreISt3mapISsiSt4lessISsESaISt4pairIKSsiEEEE4waitESt6"
			      "vectorIiSaIiEE");
void LONG(void);

__attribute__((noinline)) void store_wait(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 1000000 }, NULL);
	__asm__ volatile(""); /* no tail call */
}

__attribute__((noinline)) void LONG(void)
{
	store_wait();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	for (int i = argc > 1 ? atoi(argv[1]) : 10; i > 0; i--)
		LONG();
	return 0;
}
