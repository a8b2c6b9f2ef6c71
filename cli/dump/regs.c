/* SPDX-License-Identifier: MIT */
/*
 * The numbers are the kernel's (asm/perf_regs.h of each machine), the names perf's in small
 * letters. Registers that no table has keep their number, so that nothing is shown under a wrong
 * name.
 */
#include "cli/dump/regs.h"

#include <stdio.h>
#include <string.h>

static const char *const x86[] = {
	"ax", "bx", "cx", "dx", "si", "di", "bp",  "sp",  "ip",	 "flags", "cs",	 "ss",
	"ds", "es", "fs", "gs", "r8", "r9", "r10", "r11", "r12", "r13",	  "r14", "r15",
};

static const char *const arm64[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "lr",  "sp",  "pc",
};

#define COUNT(a) (uint32_t)(sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__)
#define THIS_MACHINE "x86_64"
#elif defined(__aarch64__)
#define THIS_MACHINE "aarch64"
#else
#define THIS_MACHINE "unknown"
#endif

const char *coati_dump_reg_name(const char *arch, uint32_t reg, char *buf, size_t size)
{
	if (!*arch)
		arch = THIS_MACHINE;
	if ((!strcmp(arch, "x86_64") || !strcmp(arch, "i686") || !strcmp(arch, "i386")) &&
	    reg < COUNT(x86))
		return x86[reg];
	if ((!strcmp(arch, "aarch64") || !strcmp(arch, "arm64")) && reg < COUNT(arm64))
		return arm64[reg];
	snprintf(buf, size, "r%u", reg);
	return buf;
}
