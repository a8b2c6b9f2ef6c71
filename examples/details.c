/* SPDX-License-Identifier: MIT */
/* What samples of a recording can have beside call chains: counts, registers and branches.
 * details [FILE] */
#include <coati/recording.h>

#include <stdio.h>

static void print_lists(const struct coati_sample *s)
{
	struct coati_read_value value;
	struct coati_branch branch;
	uint64_t reg;

	/* what a sample does not have is not set in it */
	for (uint64_t i = 0;
	     s->present & COATI_SAMPLE_READ && coati_read_block_get(&s->read, i, &value) == 0; i++)
		printf("  count of event %llu: %llu\n", (unsigned long long)value.id,
		       (unsigned long long)value.value);
	for (uint32_t i = 0; s->present & COATI_SAMPLE_REGS_USER && i < 64; i++)
		if (coati_regs_get(&s->regs_user, i, &reg) == 0)
			printf("  register %u: %llx\n", i, (unsigned long long)reg);
	for (uint64_t i = 0; s->present & COATI_SAMPLE_BRANCH_STACK &&
			     coati_branches_get(&s->branches, i, &branch) == 0;
	     i++)
		printf("  branch from %llx to %llx%s\n", (unsigned long long)branch.from,
		       (unsigned long long)branch.to, branch.mispredicted ? ", mispredicted" : "");
}

int main(int argc, char **argv)
{
	const struct coati_recording_event *e;
	const struct coati_sample_format *format;
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	struct coati_error err;
	int n = coati_recording_open(argc > 1 ? argv[1] : "coati.data", NULL, &r, &err);

	if (n < 0)
		fprintf(stderr, "details: %s\n", err.text);
	while (n >= 0 && (n = coati_recording_next(r, &item)) > 0) {
		e = coati_recording_event(r, item.event);
		format = coati_format_table_get(coati_recording_formats(r), item.event);
		if (item.raw.type != COATI_RECORD_SAMPLE || !e || !format ||
		    coati_record_decode(&item.raw, format, &rec) < 0)
			continue;
		printf("%s\n", e->name);
		print_lists(&rec.u.sample);
	}
	coati_recording_close(&r);
	return n < 0;
}
