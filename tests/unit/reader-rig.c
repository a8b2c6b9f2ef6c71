/* SPDX-License-Identifier: MIT */
/* see reader-rig.h */
#include "unit/reader-rig.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/test.h"
#include "ring/ring.h"

void rig_open(struct rig *rig, enum coati_ring_kind kind, const struct coati_reader_opts *opts)
{
	CHECK_OK(coati_reader_new(opts, &rig->rd, NULL));
	for (int i = 0; i < NR_RINGS; i++) {
		struct coati_reader_ring_opts o = { .size = sizeof(o) };
		struct coati_ring *ring = NULL;
		struct coati_ring_opts ro = { .size = sizeof(ro), .kind = kind, .key = i };

		fake_ring_init(&rig->f[i], kind, 2 * PAGE, 0);
		CHECK_OK(coati_ring_from_memory(rig->f[i].memory, rig->f[i].bytes, &ro, &ring,
						NULL));
		rig->bell[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		CHECK_OK(coati_reader_adopt(rig->rd, ring, rig->bell[i], &o, NULL));
	}
}

void rig_close(struct rig *rig)
{
	coati_reader_close(rig->rd);
	coati_reader_free(&rig->rd);
	for (int i = 0; i < NR_RINGS; i++) {
		close(rig->bell[i]);
		fake_ring_fini(&rig->f[i]);
	}
}

void rig_put(struct rig *rig, int i, uint64_t number)
{
	CHECK(fake_ring_write(&rig->f[i], FAKE_SAMPLE, 64, number));
}

void rig_ring(struct rig *rig, int i)
{
	CHECK_INT(eventfd_write(rig->bell[i], 1), ==, 0);
}

void rig_expect(struct rig *rig, int key, uint64_t number)
{
	struct coati_ring_item item;

	CHECK_INT(coati_reader_next(rig->rd, &item), ==, 1);
	CHECK_INT(item.key, ==, key);
	fake_ring_check(&rig->f[key], &item, 64, number);
}

int64_t rig_from_now(uint64_t ns)
{
	return (int64_t)(now_ns() + ns);
}
