/* SPDX-License-Identifier: MIT */
/* Lines of maps and stat files: what is accepted means the same when it is written again. And what
 * a process says about the keys of its labels. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/synth.h"
#include "fuzz/fuzz.h"
#include "process/context.h"

static void read_keys(const uint8_t *data, size_t size)
{
	struct context_keys keys;

	if (coati_context_parse_keys(data, size, &keys) < 0)
		return;
	FUZZ_CHECK(keys.nr <= CONTEXT_KEYS_MAX);
	for (uint32_t i = 0; i < keys.nr; i++)
		FUZZ_CHECK(strlen(keys.names[i]) <= CONTEXT_KEY_MAX);
	coati_context_keys_fini(&keys);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), again[512];
	struct coati_mmap m, back;
	struct proc_stat st;

	read_keys(data, size);
	if (coati_proc_stat(text, strlen(text), &st) == 0)
		FUZZ_CHECK(st.nr_threads || memchr(st.comm, 0, sizeof(st.comm)));
	if (coati_maps_line(text, &m) == 0) {
		FUZZ_CHECK(m.len && m.addr + m.len > m.addr);
		snprintf(again, sizeof(again), "%llx-%llx %c%c%c%c %llx %x:%x %llu",
			 (unsigned long long)m.addr, (unsigned long long)(m.addr + m.len),
			 m.prot & PROT_READ ? 'r' : '-', m.prot & PROT_WRITE ? 'w' : '-',
			 m.prot & PROT_EXEC ? 'x' : '-', m.flags == MAP_SHARED ? 's' : 'p',
			 (unsigned long long)m.pgoff, m.maj, m.min, (unsigned long long)m.ino);
		FUZZ_CHECK(coati_maps_line(again, &back) == 0);
		FUZZ_CHECK(back.addr == m.addr && back.len == m.len && back.ino == m.ino);
		FUZZ_CHECK(back.prot == m.prot && back.maj == m.maj && back.min == m.min);
	}
	coati_free(text);
	return 0;
}
