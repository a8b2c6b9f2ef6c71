/* SPDX-License-Identifier: MIT */
/*
 * Programs built with ThreadSanitizer. Its runtime stands in front of every handler and calls it
 * later, when the thread waits for something, with registers that are no longer true. It makes an
 * exception for signals that an instruction raises, and newer runtimes make none of these for
 * timers. So the kernel calls our handler directly.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/sampler/sampler.h"

/* Only there when the program has the runtime. */
extern void __tsan_func_exit(void) __attribute__((weak));

/* As the kernel has it, on all machines that we know. */
struct kernel_action {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* The C library has just set all of it but the handler, which is the runtime's. */
int coati_sampler_pass_tsan(int sig)
{
	struct kernel_action act;

	if (!__tsan_func_exit)
		return 0;
	if (syscall(SYS_rt_sigaction, (long)sig, NULL, &act, sizeof(act.mask)) < 0)
		return -errno;
	act.handler = coati_sampler_handler;
	return syscall(SYS_rt_sigaction, (long)sig, &act, NULL, sizeof(act.mask)) < 0 ? -errno : 0;
}
