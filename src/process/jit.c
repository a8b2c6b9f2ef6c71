/* SPDX-License-Identifier: MIT */
/*
 * Code without a file: is there somebody who tells its names? A process that wrote a perf map, or mapped a jitdump file, has one image
 * for all of it; one that did not has another, which says so.
 */
#include "image/jit.h"

#include <errno.h>

#include "process/processes.h"

static int get_image(struct coati_processes *ps, struct pid_slot *slot, enum coati_image_kind kind,
		     uint32_t *image)
{
	struct coati_image_ref ref = {
		.size = sizeof(ref), .kind = kind, .pid = slot->pid, .path = ""
	};

	return *image == COATI_IMAGE_NONE ? coati_images_get(ps->images, &ref, image, NULL) : 0;
}

/* Only -ENOMEM is a failure; other reasons are kept by the image. */
static int load(struct coati_processes *ps, struct pid_slot *slot)
{
	int r = 0;

	if (slot->jitdump)
		r = coati_image_load_jitdump(ps->images, slot->jit_image, slot->pid, slot->jitdump,
					     NULL);
	if (r != -ENOMEM)
		r = coati_image_load_perf_map(ps->images, slot->jit_image, slot->pid, NULL, NULL);
	return r == -ENOMEM ? r : 0;
}

int coati_pid_jit(struct coati_processes *ps, struct pid_slot *slot, uint32_t *ret_image,
		  bool *ret_is_jit)
{
	bool live = ps->flags & COATI_PROCESSES_LIVE;
	int r;

	if (slot->jit == JIT_UNKNOWN) {
		bool found = slot->jitdump || coati_image_has_perf_map(ps->images, slot->pid);

		r = found ? get_image(ps, slot, COATI_IMAGE_JIT, &slot->jit_image) : 0;
		/* of one that runs the map grows: it is read when the names are wanted */
		if (r == 0 && found && !live)
			r = load(ps, slot);
		if (r < 0)
			return r;
		slot->jit = found ? JIT_FOUND : JIT_NONE;
	}
	*ret_is_jit = slot->jit == JIT_FOUND;
	if (!*ret_is_jit) {
		r = get_image(ps, slot, COATI_IMAGE_ANON, &slot->anon_image);
		if (r < 0)
			return r;
	}
	*ret_image = *ret_is_jit ? slot->jit_image : slot->anon_image;
	return 0;
}

void coati_pid_jitdump(struct coati_processes *ps, struct pid_slot *slot, const char *path)
{
	if (slot->jitdump)
		return;
	slot->jitdump = path;
	/* answers of before would be others now */
	if (slot->jit == JIT_UNKNOWN)
		return;
	slot->jit = JIT_UNKNOWN;
	for (size_t i = 0; i < slot->spans.len; i++)
		slot->spans.v[i].space->epoch = ps->next_epoch++;
	coati_numbers_expire(ps, slot);
}

int coati_processes_load_jit(struct coati_processes *ps)
{
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && coati_map_next(&ps->pids, &pos, &key, &value)) {
		struct pid_slot *slot = (struct pid_slot *)(uintptr_t)value;

		if (slot->jit == JIT_FOUND)
			r = load(ps, slot);
	}
	return r;
}
