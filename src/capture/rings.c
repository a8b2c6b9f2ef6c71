/* SPDX-License-Identifier: MIT */
/* see rings.h */
#include "capture/rings.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "event/set.h"
#include "ring/budget.h"

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
			     .backward.max = RINGS_MAX,
			     .lanes.max = RINGS_MAX,
			     .backward_lanes.max = RINGS_MAX };
	coati_map_init(&r->homes, RINGS_MAX);
	coati_map_init(&r->backward_homes, RINGS_MAX);
}

void coati_rings_fini(struct rings *r)
{
	for (size_t i = 0; i < r->backward.len; i++)
		coati_ring_close(&r->backward.v[i]);
	ARRAY_FINI(&r->backward);
	ARRAY_FINI(&r->lanes);
	ARRAY_FINI(&r->backward_lanes);
	if (!r->borrowed)
		coati_reader_free(&r->reader);
	coati_map_fini(&r->homes);
	coati_map_fini(&r->backward_homes);
}

/* One event that is connected, and where. */
struct plug {
	struct coati_set_entry e;
	uint8_t lane;
	bool lives;
};

static int32_t key_of(const struct rings *r, const struct plug *p)
{
	return r->first_key + p->lane * RINGS_MAX + p->e.cpu;
}

static int add_forward(struct rings *r, const struct plug *p, struct coati_error *err)
{
	struct coati_reader_ring_opts o = {
		.size = sizeof(o),
		.ring = { .size = sizeof(o.ring), .data_bytes = r->bytes, .key = key_of(r, p) },
	};
	uint8_t *lane = ARRAY_ADD(&r->lanes);
	int code;

	if (!lane)
		return coati_fail(err, -ENOMEM, "out of memory for rings");
	*lane = p->lane;
	code = coati_reader_add(r->reader, coati_event_fd(p->e.handle), &o, err);
	if (code < 0)
		r->lanes.len--;
	return code;
}

static int add_backward(struct rings *r, const struct plug *p, struct coati_error *err)
{
	struct coati_ring_opts o = { .size = sizeof(o),
				     .data_bytes = r->bytes,
				     .kind = COATI_RING_BACKWARD,
				     .key = p->e.cpu };
	struct coati_ring **slot = ARRAY_ADD(&r->backward);
	uint8_t *lane = slot ? ARRAY_ADD(&r->backward_lanes) : NULL;
	int code = -ENOMEM;

	if (lane) {
		*lane = p->lane;
		code = coati_ring_open(coati_event_fd(p->e.handle), &o, slot, err);
	} else {
		coati_fail(err, code, "out of memory for rings");
	}
	if (code < 0 && slot)
		r->backward.len--;
	if (code < 0 && lane)
		r->backward_lanes.len--;
	return code;
}

static int connect_one(struct rings *r, const struct plug *p, struct coati_error *err)
{
	bool backward = coati_event_attr(p->e.handle)->flags & COATI_ATTR_WRITE_BACKWARD;
	struct map *homes = backward ? &r->backward_homes : &r->homes;
	uint64_t place = (uint64_t)p->lane << 32 | (uint32_t)p->e.cpu, home;
	int code;

	if (coati_map_get(homes, place, &home)) {
		code = coati_event_set_output(p->e.handle, (struct coati_event *)(uintptr_t)home,
					      err);
		/* in a lane of its own nothing else reports when the threads have ended */
		if (code == 0 && !backward && (p->lives || p->lane))
			code = coati_reader_attach(r->reader, key_of(r, p),
						   coati_event_fd(p->e.handle), NULL, err);
		return code;
	}
	code = backward ? add_backward(r, p, err) : add_forward(r, p, err);
	if (code < 0)
		return code;
	code = coati_map_put(homes, place, (uint64_t)(uintptr_t)p->e.handle);
	return code < 0 ? coati_fail(err, code, "rings for more than %d CPUs: %m", RINGS_MAX) : 0;
}

int coati_rings_connect(struct rings *r, const struct coati_set *set, bool lives,
			const uint8_t *lanes, struct coati_error *err)
{
	uint32_t nr = coati_set_count(set);

	for (uint32_t i = 0; i < nr; i++) {
		struct plug p = { .lives = lives };
		int code = coati_set_entry(set, i, &p.e);

		if (code == 0 && lanes)
			p.lane = lanes[p.e.event];
		if (code == 0)
			code = connect_one(r, &p, err);
		if (code < 0)
			return code;
	}
	return 0;
}
