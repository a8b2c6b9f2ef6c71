/* SPDX-License-Identifier: MIT */
/*
 * From the words of a chain to a stack of locations. Context markers say whose address follows; the
 * first address of each part is where execution stood, the others are return addresses and are
 * looked up one byte before, inside the call. Runs once for each chain that was not seen before;
 * what an address became is kept, too, for recordings in which nearly all chains differ.
 */
#include <errno.h>

#include "base/map.h"
#include "image/image.h"
#include "reading/parts.h"
#include "reading/reading.h"

enum part { PART_KERNEL, PART_USER, PART_GUEST, PART_NOTHING };

static enum part part_of_cpumode(uint32_t cpumode)
{
	switch (cpumode & COATI_MISC_CPUMODE_MASK) {
	case COATI_MISC_KERNEL:
		return PART_KERNEL;
	case COATI_MISC_HYPERVISOR:
	case COATI_MISC_GUEST_KERNEL:
	case COATI_MISC_GUEST_USER:
		return PART_GUEST;
	default:
		return PART_USER;
	}
}

static enum part part_of_marker(uint64_t marker)
{
	switch (marker) {
	case COATI_CONTEXT_KERNEL:
		return PART_KERNEL;
	case COATI_CONTEXT_USER:
		return PART_USER;
	case COATI_CONTEXT_USER_DEFERRED: /* a cookie follows, no address */
		return PART_NOTHING;
	default:
		return PART_GUEST;
	}
}

/* Whose address, when; and the time in which all answers so far are right. */
struct question {
	int32_t pid;
	enum part part;
	uint64_t time, from, last;
	const struct chain_key *key;
};

/* When its map is gone, only the recording shows that the process had named its code. */
static uint32_t jit_of(struct reading *r, uint32_t image)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .kind = COATI_IMAGE_JIT, .path = "" };
	uint32_t jit;

	ref.pid = coati_image_at(r->profile->images, image)->pid;
	return coati_images_get(r->profile->images, &ref, &jit, NULL) == 0 ? jit : image;
}

/* NULL: out of memory. */
static const struct image_note *note_of(struct reading *r, uint32_t image)
{
	struct coati_image_info info = { .size = sizeof(info) };
	struct image_note *note;

	while (r->notes.len <= image)
		if (!ARRAY_ADD(&r->notes))
			return NULL;
	note = &r->notes.v[image];
	if (note->is_known || coati_image_info(r->profile->images, image, &info) < 0)
		return note;
	if ((info.kind == COATI_IMAGE_JIT || info.kind == COATI_IMAGE_ANON) &&
	    coati_reading_names(r) < 0)
		return NULL;
	*note = (struct image_note){
		.is_known = true,
		.kind = info.kind,
		.jit = info.kind == COATI_IMAGE_ANON ? jit_of(r, image) : image,
	};
	return note;
}

/* Code that is replaced while the program runs is another place in another time. */
static void set_since(struct reading *r, struct location *l, const struct image_note *note,
		      struct question *q)
{
	struct coati_image *jit = coati_image_at(r->profile->images, note->jit);
	uint64_t from, last;

	/* the address in the names that came with the recording decides which of the two it is */
	if (note->jit != l->pub.image &&
	    coati_versions_find(&jit->told, l->pub.vaddr, q->time, &from, &last))
		l->pub.image = note->jit;
	l->time = q->time;
	l->since = coati_image_code_since(coati_image_at(r->profile->images, l->pub.image),
					  l->pub.vaddr, q->time, &q->from, &q->last);
}

static int describe(struct reading *r, struct location *l, struct question *q)
{
	const struct image_note *note = note_of(r, l->pub.image);

	if (!note)
		return -ENOMEM;
	if (is_changing_code(note->kind) || note->kind == COATI_IMAGE_KERNEL)
		set_since(r, l, note, q);
	if (note->kind == COATI_IMAGE_FILE) {
		l->has_offset = true;
		l->file_offset = l->pub.address - l->pub.map_start + l->pub.map_pgoff;
	}
	return 0;
}

static int find_location(struct reading *r, struct question *q, uint64_t addr, uint32_t *ret)
{
	struct location l = { .pub = { .image = COATI_IMAGE_NONE,
				       .vaddr = addr,
				       .address = addr,
				       .file = r->file } };
	struct coati_place place;
	int n = -ENOENT;

	if (q->part == PART_USER) {
		n = coati_processes_find(r->processes, q->pid, addr, q->time, &place);
	} else if (q->part == PART_KERNEL) {
		n = coati_processes_find_kernel(r->processes, addr, q->time, &place);
		l.pub.flags = COATI_LOCATION_KERNEL;
	} else {
		l.pub.flags = COATI_LOCATION_GUEST;
	}
	if (n == -ENOMEM)
		return n;
	if (n == 0 && place.image != COATI_IMAGE_NONE) {
		l.pub.image = place.image;
		l.pub.vaddr = place.vaddr;
		l.pub.map_start = place.start;
		l.pub.map_end = place.end;
		l.pub.map_pgoff = place.pgoff;
		n = describe(r, &l, q);
		if (n < 0)
			return n;
	}
	return coati_profile_find_location(r->profile, &l, ret);
}

/* The number of what the address was looked up in. */
static uint64_t code_of(const struct question *q)
{
	return q->part == PART_USER ? q->key->space : q->part == PART_KERNEL ? q->key->kernel : 0;
}

/* The location of an address, which most stacks share with others.  Hot where stacks differ. */
static int find_spot(struct reading *r, struct question *q, uint64_t addr, uint32_t *ret)
{
	uint64_t code = code_of(q);
	/* without a secret: who makes addresses meet here gains a look-up, and what a sample out of
	 * the order of time finds is the same in every run */
	uint64_t hash = coati_hash_u64(addr, code);
	struct spot *s = &r->spots[hash % READING_SPOTS];
	struct question own = *q;
	int n = 0;

	if (!s->location || s->addr != addr || s->code != code || s->part != q->part ||
	    q->time < s->from || q->time > s->last) {
		own.from = 0;
		own.last = UINT64_MAX;
		n = find_location(r, &own, addr, ret);
		if (n < 0)
			return n;
		*s = (struct spot){ .addr = addr,
				    .code = code,
				    .from = own.from,
				    .last = own.last,
				    .location = *ret + 1,
				    .part = q->part };
	}
	*ret = s->location - 1;
	q->from = s->from > q->from ? s->from : q->from;
	q->last = s->last < q->last ? s->last : q->last;
	return 0;
}

static uint32_t stack_flags(const struct chain_key *key)
{
	uint32_t flags = 0;

	if (key->mode & CHAIN_SINGLE)
		flags |= COATI_STACK_SINGLE;
	if (key->mode & CHAIN_FULL)
		flags |= COATI_STACK_TRUNCATED;
	if (key->mode & CHAIN_GAP)
		flags |= COATI_STACK_GAP;
	if (key->mode & CHAIN_CONTINUED)
		flags |= COATI_STACK_CONTINUED;
	if (key->mode & CHAIN_GUESSED)
		flags |= COATI_STACK_GUESSED;
	if (key->mode & CHAIN_RECORDED)
		flags |= COATI_STACK_RECORDED;
	if (!(key->mode & CHAIN_UNWOUND))
		return flags;
	flags |= COATI_STACK_UNWOUND;
	switch ((enum coati_unwind_end)(key->mode >> CHAIN_END_SHIFT & 0xff)) {
	case COATI_UNWIND_END:
		return flags;
	case COATI_UNWIND_TRUNCATED:
	case COATI_UNWIND_LIMIT:
		return flags | COATI_STACK_TRUNCATED;
	default:
		return flags | COATI_STACK_GAP;
	}
}

/* The addresses of a chain one after the other, each as it is looked up. */
struct steps {
	const struct chain_key *key;
	enum part part;
	uint32_t at;
	bool is_first, is_begun;
};

static struct steps steps_of(const struct chain_key *key)
{
	return (struct steps){ .key = key, .part = part_of_cpumode(key->mode), .is_first = true };
}

static bool next_address(struct steps *s, uint64_t *ret)
{
	const struct chain_key *key = s->key;

	while (s->at < key->nr) {
		uint64_t addr = key->words[s->at++];

		if (addr >= COATI_CONTEXT_MAX) {
			s->part = part_of_marker(addr);
			s->is_first = true;
			continue;
		}
		if (s->part == PART_NOTHING || (!addr && !s->is_first))
			continue;
		if (!s->is_begun && key->leaf)
			addr = key->leaf;
		else if (!s->is_first && !(key->mode & CHAIN_ADJUSTED))
			addr--;
		s->is_first = false;
		s->is_begun = true;
		*ret = addr;
		return true;
	}
	return false;
}

int coati_reading_stack(struct reading *r, const struct chain_key *key, uint64_t time,
			struct timed_stack *ret)
{
	struct coati_profile_stack s = { .locations = r->locations, .flags = stack_flags(key) };
	struct question q = { .pid = key->pid, .time = time, .last = UINT64_MAX, .key = key };
	struct steps steps = steps_of(key);
	uint64_t addr;
	int n;

	while (next_address(&steps, &addr)) {
		if (s.nr == r->profile->max_frames) {
			s.flags |= COATI_STACK_TRUNCATED;
			break;
		}
		q.part = steps.part;
		n = find_spot(r, &q, addr, &r->locations[s.nr]);
		if (n < 0)
			return n;
		s.nr++;
	}
	if (!s.nr) {
		/* nothing but markers: a place of its own, which is nowhere */
		q.part = steps.part;
		n = find_location(r, &q, 0, &r->locations[s.nr++]);
		if (n < 0)
			return n;
	}
	ret->from = q.from;
	ret->last = q.last;
	return coati_profile_find_stack(r->profile, &s, &ret->stack);
}

/* ---- places alone ---- */

/* What is over the limit of the profile is counted. */
static int count_refused(struct reading *r, int n)
{
	if (n != -E2BIG)
		return n;
	r->profile->quality.refused++;
	return 0;
}

int coati_reading_places(struct reading *r, const struct chain_key *key, uint64_t time)
{
	struct question q = { .pid = key->pid, .time = time, .key = key };
	struct steps steps = steps_of(key);
	uint32_t unused;
	uint64_t addr;
	int n = 0;

	for (uint32_t nr = 0; n == 0 && nr < r->profile->max_frames && next_address(&steps, &addr);
	     nr++) {
		q.part = steps.part;
		n = count_refused(r, find_spot(r, &q, addr, &unused));
	}
	return n;
}

int coati_reading_user_place(struct reading *r, int32_t pid, uint64_t addr, uint64_t time)
{
	struct question q = { .pid = pid, .part = PART_USER, .time = time, .last = UINT64_MAX };
	uint32_t unused;
	int n = count_refused(r, find_location(r, &q, addr, &unused));

	return n < 0 ? n : q.from || q.last != UINT64_MAX;
}
