/* SPDX-License-Identifier: MIT */
/*
 * What a recording may make us keep: limits grow with the bytes that were read of it, and messages
 * report what they left out.
 */
#include "image/image.h"
#include "process/processes.h"
#include "reading/reading.h"

void coati_reading_allow(struct reading *r)
{
	struct coati_profile *p = r->profile;
	struct coati_recording_stats st = { .size = sizeof(st) };

	coati_recording_get_stats(r->recording, &st);
	coati_processes_allow(r->processes, &p->limits, st.read_bytes);
	coati_profile_allow(p, st.read_bytes);
	coati_images_allow(p->images,
			   coati_limit(&p->limits, LIMIT_IMAGES, p->input_bytes + st.read_bytes));
}

static void tell(struct reading *r, enum limit which, uint64_t limit, uint64_t over)
{
	if (over)
		coati_profile_add_note(r->profile, "%s: " LIMIT_NOTE, r->path,
				       (unsigned long long)limit, coati_limit_name(which),
				       (unsigned long long)over, coati_limit_variable(which));
}

void coati_reading_limits_end(struct reading *r, uint64_t read_bytes)
{
	static const enum limit of_processes[] = { LIMIT_THREADS, LIMIT_PROCESSES, LIMIT_MAPPINGS,
						   LIMIT_NAMES };
	struct coati_profile *p = r->profile;

	for (size_t i = 0; i < sizeof(of_processes) / sizeof(*of_processes); i++)
		tell(r, of_processes[i], coati_limit(&p->limits, of_processes[i], read_bytes),
		     coati_processes_over(r->processes, of_processes[i]));
	p->input_bytes += read_bytes;
	tell(r, LIMIT_IMAGES, coati_profile_limit(p, LIMIT_IMAGES), coati_images_over(p->images));
	tell(r, LIMIT_STACKS, p->max_bytes, p->over);
}
