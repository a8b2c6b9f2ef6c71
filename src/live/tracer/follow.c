/* SPDX-License-Identifier: MIT */
/*
 * Somebody outside records: `coati record --trace` names a folder in the environment (COATI_TRACE), and the memory of the tracer is made there when the program is
 * loaded. It is left there at the end, so that what was written last is read however the program ended. Programs that run with the rights of others take no notice
 * of the variable.
 */
#include <coati/tracer.h>

#include <errno.h>
#include <stdlib.h>

#define VARIABLE    "COATI_TRACE"
#define MOST_BYTES  (UINT64_C(32) << 20)
#define LEAST_BYTES (UINT64_C(1) << 20)

/* Here, beside the constructor: who tests it has that out of an archive, too. */
uint64_t coati_tracer_gate __attribute__((aligned(64)));

__attribute__((constructor)) static void start_if_asked(void)
{
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .flags = COATI_RECORDER_LABELS,
					 .bytes = MOST_BYTES };
	struct coati_recorder *rec = NULL; /* for ever */
	int keep = errno, r;

	o.directory = secure_getenv(VARIABLE);
	if (!o.directory || o.directory[0] != '/')
		return;
	do {
		r = coati_recorder_start(&o, &rec, NULL);
		o.bytes /= 2;
	} while ((r == -ENOSPC || r == -ENOMEM) && o.bytes >= LEAST_BYTES);
	errno = keep;
}
