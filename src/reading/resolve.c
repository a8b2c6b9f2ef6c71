/* SPDX-License-Identifier: MIT */
/*
 * Names for locations: all of them in one question, so that each file and each unit is walked once.
 * What lies in nothing that is known has a name too, one that says so.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/image.h"
#include "reading/off-cpu.h"
#include "reading/parts.h"
#include "reading/profile.h"

static const struct coati_name unknown_name = { .function = "[unknown]",
						.flags = COATI_NAME_SYNTHETIC };
static const struct coati_name guest_name = { .function = "[guest]",
					      .flags = COATI_NAME_SYNTHETIC };

static const struct coati_name truncated_name = { .function = "[truncated]" };

/* What is no place in code, but the reason why a thread was not there. */
static const struct coati_name off_names[OFF_FRAME_COUNT] = {
	[OFF_FRAME_NONE] = { .function = "[unknown]" },
	[OFF_FRAME_PREEMPTED] = { .function = "[preempted]" },
	[OFF_FRAME_RUNNABLE] = { .function = "[runnable]" },
	[OFF_FRAME_BLOCKED] = { .function = "[off-CPU]" },
	[OFF_FRAME_BEFORE] = { .function = "[off-CPU since before the recording]" },
};

static const struct coati_name *name_of_nowhere(const struct coati_profile_location *l)
{
	if (l->flags & COATI_LOCATION_OFF_CPU)
		return &off_names[l->vaddr < OFF_FRAME_COUNT ? l->vaddr : OFF_FRAME_NONE];
	if (l->flags & COATI_LOCATION_TRUNCATED)
		return &truncated_name;
	return l->flags & COATI_LOCATION_GUEST ? &guest_name : &unknown_name;
}

/* Names that came with the recording may have come behind the samples: only now is it known how the
 * file is laid out. */
static void settle_vaddr(struct coati_profile *p, struct location *l)
{
	uint64_t vaddr;

	if (l->has_offset &&
	    coati_image_vaddr(p->images, l->pub.image, l->file_offset, &vaddr) == 0)
		l->pub.vaddr = vaddr;
	l->has_offset = false;
}

static void take_names(struct coati_profile *p, const struct coati_address *asked)
{
	size_t k = 0;

	for (size_t i = p->resolved; i < p->locations.len; i++) {
		struct coati_profile_location *l = &p->locations.v[i].pub;

		if (l->image == COATI_IMAGE_NONE) {
			l->names = name_of_nowhere(l);
			l->nr_names = 1;
			continue;
		}
		l->names = asked[k].names;
		l->nr_names = asked[k].nr_names;
		k++;
		if (!l->nr_names) {
			l->names = &unknown_name;
			l->nr_names = 1;
		}
	}
}

int coati_profile_resolve(struct coati_profile *p, uint32_t how, struct coati_error *err)
{
	CLEANUP(freep) struct coati_address *asked = NULL;
	size_t nr = 0;
	int r;

	if (how & ~p->resolved_how)
		p->resolved = 0;
	how |= p->resolved_how;
	if (p->resolved == p->locations.len)
		return 0;
	asked = coati_alloc_array(p->locations.len - p->resolved, sizeof(*asked));
	if (!asked)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (size_t i = p->resolved; i < p->locations.len; i++) {
		struct location *l = &p->locations.v[i];

		if (l->pub.image == COATI_IMAGE_NONE)
			continue;
		settle_vaddr(p, l);
		asked[nr++] = (struct coati_address){ .image = l->pub.image,
						      .vaddr = l->pub.vaddr,
						      .time = l->time };
	}
	r = nr ? coati_images_resolve(p->images, asked, nr, how, err) : 0;
	if (r < 0)
		return r;
	take_names(p, asked);
	p->resolved = p->locations.len;
	p->resolved_how = how;
	return 0;
}
