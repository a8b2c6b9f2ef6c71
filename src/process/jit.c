/* SPDX-License-Identifier: MIT */
/*
 * Code without a file: does something report its names? A process that wrote a perf map, or mapped
 * a jitdump file, has one image for all of it; one that did not has another, which says so.
 */
#include "image/jit.h"

#include <errno.h>

#include "image/image.h"
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
static int load(struct coati_processes *ps, const struct pid_slot *slot, uint32_t image)
{
	int r = 0;

	if (slot->jitdump)
		r = coati_image_load_jitdump(ps->images, image, slot->pid, slot->jitdump, NULL);
	if (r != -ENOMEM)
		r = coati_image_load_perf_map(ps->images, image, slot->pid, NULL, NULL);
	return r == -ENOMEM ? r : 0;
}

/* Answers that were given would be others now. */
static void expire(struct coati_processes *ps, struct pid_slot *slot)
{
	for (size_t i = 0; i < slot->spans.len; i++)
		slot->spans.v[i].space->epoch = ps->next_epoch++;
	coati_numbers_expire(ps, slot);
}

static int look_for_jit(struct coati_processes *ps, struct pid_slot *slot)
{
	bool found = slot->jitdump || coati_image_has_perf_map(ps->images, slot->pid);
	int r = found ? get_image(ps, slot, COATI_IMAGE_JIT, &slot->jit_image) : 0;

	/* of one that runs the map grows: it is read when the names are wanted */
	if (r == 0 && found && !(ps->flags & COATI_PROCESSES_LIVE))
		r = load(ps, slot, slot->jit_image);
	if (r < 0)
		return r;
	slot->jit = found ? JIT_FOUND : JIT_NONE;
	return 0;
}

int coati_pid_jit(struct coati_processes *ps, struct pid_slot *slot, uint32_t *ret_image,
		  bool *ret_is_jit)
{
	int r = slot->jit == JIT_UNKNOWN ? look_for_jit(ps, slot) : 0;

	if (r < 0)
		return r;
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
	slot->jit = JIT_UNKNOWN;
	if (slot->anon_image != COATI_IMAGE_NONE)
		expire(ps, slot);
}

void coati_pid_anon(struct coati_processes *ps, struct pid_slot *slot)
{
	if (!(ps->flags & COATI_PROCESSES_LIVE) || slot->jit != JIT_NONE ||
	    !coati_image_has_perf_map(ps->images, slot->pid))
		return;
	slot->jit = JIT_UNKNOWN;
	expire(ps, slot);
}

int coati_processes_load_jit(struct coati_processes *ps)
{
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && coati_map_next(&ps->pids, &pos, &key, &value)) {
		struct pid_slot *slot = (struct pid_slot *)(uintptr_t)value;

		if (slot->jit == JIT_FOUND)
			r = load(ps, slot, slot->jit_image);
		/* addresses from before there was a map, or one that came after all */
		if (r == 0 && slot->anon_image != COATI_IMAGE_NONE)
			r = load(ps, slot, slot->anon_image);
	}
	return r;
}
