/* SPDX-License-Identifier: MIT */
/* Any records fed to the model of processes: every question has an answer, and what a number stands
 * for stays. */
#include <coati/process.h>

#include "fuzz/fuzz.h"
#include "process/processes.h"

static void ask(struct coati_processes *ps, const struct coati_record *rec, uint64_t time)
{
	int32_t pid = (int32_t)rec->u.task.pid;
	uint64_t number = coati_processes_space(ps, pid, time), addr = rec->u.mmap.addr;
	struct coati_place first, again;
	struct coati_thread_info info;
	int r = coati_processes_find(ps, pid, addr, time, &first);

	FUZZ_CHECK(r == 0 || first.image == COATI_IMAGE_NONE);
	FUZZ_CHECK(r < 0 || (addr >= first.start && addr < first.end));
	FUZZ_CHECK(coati_processes_space(ps, pid, time) == number);
	FUZZ_CHECK(coati_processes_find(ps, pid, addr, time, &again) == r);
	FUZZ_CHECK(again.image == first.image && again.vaddr == first.vaddr);
	FUZZ_CHECK(coati_processes_thread(ps, pid, pid, time, &info) == 0 && info.comm);
	(void)coati_processes_find_kernel(ps, addr, time, &first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_TIME,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_LOCAL };
	struct coati_images *images = NULL;
	struct coati_processes *ps = NULL;
	struct coati_sample_format fmt;
	struct coati_record rec;
	struct coati_raw raw;

	coati_sample_format_init(&attr, &fmt);
	FUZZ_CHECK(coati_images_new(&o, &images, NULL) == 0);
	FUZZ_CHECK(coati_processes_new(images, NULL, &ps, NULL) == 0);
	while (coati_raw_next(&data, &size, 0, &raw) > 0) {
		if (coati_record_decode(&raw, &fmt, &rec) < 0)
			continue;
		FUZZ_CHECK(coati_processes_feed(ps, &raw, &rec) == 0);
		ask(ps, &rec, rec.id.time);
	}
	coati_processes_forget(ps, 1000);
	coati_processes_free(&ps);
	coati_images_free(&images);
	return 0;
}
