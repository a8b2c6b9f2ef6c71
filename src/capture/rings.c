/* SPDX-License-Identifier: MIT */
/* see rings.h */
#include "capture/rings.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"

#define ALL_BYTES   (UINT64_C(32) << 20)
#define LARGE_BYTES (UINT64_C(4) << 20)
#define COPIES	    4 /* times these, when samples carry copies of stacks */
#define SMALL_BYTES (UINT64_C(512) << 10)

uint64_t coati_rings_default_bytes(uint32_t nr, bool copies)
{
	uint64_t times = copies ? COPIES : 1, bytes = times * LARGE_BYTES;
	uint64_t budget = coati_ring_budget(nr);

	while (bytes > SMALL_BYTES && bytes * nr > times * ALL_BYTES)
		bytes /= 2;
	return budget && budget < bytes ? budget : bytes;
}

int coati_rings_init(struct rings *r, uint64_t bytes, struct coati_error *err)
{
	coati_rings_share(r, NULL, bytes, 0);
	r->borrowed = false;
	return coati_reader_new(NULL, &r->reader, err);
}

void coati_rings_share(struct rings *r, struct coati_reader *reader, uint64_t bytes,
		       int32_t first_key)
{
	*r = (struct rings){ .reader = reader,
			     .bytes = bytes,
			     .first_key = first_key,
			     .borrowed = true,
			     .backward.max = RINGS_MAX };
	coati_map_init(&r->homes, RINGS_MAX);
	coati_map_init(&r->backward_homes, RINGS_MAX);
}

void coati_rings_fini(struct rings *r)
{
	for (size_t i = 0; i < r->backward.len; i++)
		coati_ring_close(&r->backward.v[i]);
	ARRAY_FINI(&r->backward);
	if (!r->borrowed)
		coati_reader_free(&r->reader);
	coati_map_fini(&r->homes);
	coati_map_fini(&r->backward_homes);
}

static int add_forward(struct rings *r, const struct coati_set_entry *e, struct coati_error *err)
{
	struct coati_reader_ring_opts o = {
		.size = sizeof(o),
		.ring = { .size = sizeof(o.ring),
			  .data_bytes = r->bytes,
			  .key = r->first_key + e->cpu },
	};

	return coati_reader_add(r->reader, coati_event_fd(e->handle), &o, err);
}

static int add_backward(struct rings *r, const struct coati_set_entry *e, struct coati_error *err)
{
	struct coati_ring_opts o = { .size = sizeof(o),
				     .data_bytes = r->bytes,
				     .kind = COATI_RING_BACKWARD,
				     .key = e->cpu };
	struct coati_ring **slot = ARRAY_ADD(&r->backward);
	int code;

	if (!slot)
		return coati_fail(err, -ENOMEM, "out of memory for rings");
	code = coati_ring_open(coati_event_fd(e->handle), &o, slot, err);
	if (code < 0)
		r->backward.len--;
	return code;
}

static int connect_one(struct rings *r, const struct coati_set_entry *e, bool lives,
		       struct coati_error *err)
{
	bool backward = coati_event_attr(e->handle)->flags & COATI_ATTR_WRITE_BACKWARD;
	struct map *homes = backward ? &r->backward_homes : &r->homes;
	uint64_t home;
	int code;

	if (coati_map_get(homes, (uint64_t)e->cpu, &home)) {
		code = coati_event_set_output(e->handle, (struct coati_event *)(uintptr_t)home,
					      err);
		if (code == 0 && lives)
			code = coati_reader_attach(r->reader, r->first_key + e->cpu,
						   coati_event_fd(e->handle), NULL, err);
		return code;
	}
	code = backward ? add_backward(r, e, err) : add_forward(r, e, err);
	if (code < 0)
		return code;
	code = coati_map_put(homes, (uint64_t)e->cpu, (uint64_t)(uintptr_t)e->handle);
	return code < 0 ? coati_fail(err, code, "rings for more than %d CPUs: %m", RINGS_MAX) : 0;
}

int coati_rings_connect(struct rings *r, const struct coati_set *set, bool lives,
			struct coati_error *err)
{
	uint32_t nr = coati_set_count(set);

	for (uint32_t i = 0; i < nr; i++) {
		struct coati_set_entry e;
		int code = coati_set_entry(set, i, &e);

		if (code == 0)
			code = connect_one(r, &e, lives, err);
		if (code < 0)
			return code;
	}
	return 0;
}
