/* SPDX-License-Identifier: MIT */
/*
 * Probes through the dynamic PMUs: from a path and a symbol to attributes. Nothing is written to
 * tracefs, so nothing can be left behind: a probe lives exactly as long as the event.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>

#include "base/arena.h"

/* One place to probe at, as typed. Texts are terminated. */
struct probe_spec {
	bool kernel;	/* kprobe: path is NULL */
	bool is_return; /* uretprobe, kretprobe */
	/* uprobe, usdt; a bare name ("libc.so.6", "libc", "bash") is looked up, see
	 * event/probe-file.h */
	const char *path;
	/* function (see event/probe-symbol.h for which one), or NULL with an absolute offset (file
	 * offset, kernel address) */
	const char *symbol;
	uint64_t offset; /* added to the symbol: inside of the function, and 0 for a return probe */
	/* usdt: provider and name instead of symbol */
	const char *provider;
	const char *name;
};

struct probe_site {
	struct coati_attr attr; /* type, config, config1, config2 */
	const char *text;	/* "/usr/lib/libc.so.6:malloc+0x0" */
};

#define PROBE_SITES_MAX 1024

/* Resolve @spec: the number of sites, or negative. Uprobes and kprobes have one site, a USDT probe
 * as many as the compiler made (each one event whose counts add up). Strings that the attributes
 * point to and the array are allocated in @arena. @sysfs is the sysfs mount ("/sys"). -ENOENT: no
 * such file, symbol (the text offers the nearest) or probe; -EOPNOTSUPP: no such PMU in this
 * kernel, or a file that it cannot probe; -EINVAL: no place for a probe; -EBADMSG: a damaged file;
 * -E2BIG: over a limit. */
int coati_probe_resolve(const struct probe_spec *spec, const char *sysfs, struct arena *arena,
			struct probe_site **ret_sites, struct coati_error *err);
