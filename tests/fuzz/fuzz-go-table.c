/* SPDX-License-Identifier: MIT */
/* Any bytes as the function table of a Go program: functions lie in it, distances in functions, and
 * unwind data comes out that a table is made of. */
#include "fuzz/fuzz.h"
#include "image/go-table.h"
#include "unit/unwind-walk.h"
#include "unwind/unwinder.h"

static void look_at(const struct go_table *t, const struct go_function *f)
{
	struct go_steps s = coati_go_steps(t, f);
	struct go_step step;
	uint64_t at = f->start;

	FUZZ_CHECK(f->start < f->end && f->name < t->names_size);
	FUZZ_CHECK(memchr(t->names + f->name, 0, t->names_size - f->name));
	while (coati_go_step_next(&s, &step) > 0) {
		FUZZ_CHECK(step.start == at && step.end > at && step.end <= f->end);
		at = step.end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_input in = { .machine = size % 2 ? EM_AARCH64 : EM_X86_64, .nr_code = 1 };
	struct go_function f;
	struct go_table t;
	uint8_t *frames = NULL;
	void *table;
	size_t frames_size;

	if (coati_go_table_read(&t, data, size) <= 0)
		return 0;
	for (uint32_t i = 0; i < t.nr; i++)
		if (coati_go_function(&t, i, &f))
			look_at(&t, &f);
	FUZZ_CHECK(coati_unwind_go_frames(&t, in.machine, &frames, &frames_size) == 0);
	in.code[0] = (struct table_code){ .start = 0x401000, .size = 0x4000 };
	coati_table_input_add(&in, frames, frames_size);
	FUZZ_CHECK(coati_table_build(&in, &table, &frames_size) == 0);
	FUZZ_CHECK(unwind_walk(table, frames_size, data, size));
	coati_free(table);
	coati_free(frames);
	return 0;
}
