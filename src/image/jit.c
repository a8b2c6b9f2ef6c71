/* SPDX-License-Identifier: MIT */
/* The functions of a JIT by address and time: names once each, places in base/ranges.h. */
#include "image/jit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "image/image.h"

void coati_jit_init(struct jit *j)
{
	*j = (struct jit){ .functions.max = JIT_FUNCTIONS_MAX, .lines.max = JIT_LINES_MAX };
	coati_arena_init(&j->arena, JIT_TEXT_MAX);
	coati_map_init_strings(&j->names, JIT_FUNCTIONS_MAX);
	coati_map_init(&j->by_code, JIT_FUNCTIONS_MAX);
	coati_ranges_init(&j->ranges);
}

void coati_jit_fini(struct jit *j)
{
	coati_ranges_fini(&j->ranges);
	coati_map_fini(&j->by_code);
	coati_map_fini(&j->names);
	ARRAY_FINI(&j->functions);
	ARRAY_FINI(&j->lines);
	coati_arena_fini(&j->arena);
}

/* NULL: no memory, or no room (*ret_full). */
static const char *keep_name(struct jit *j, const char *name, bool *ret_full)
{
	size_t len = strnlen(name, JIT_NAME_MAX);
	char text[JIT_NAME_MAX + 1];
	const char *copy;
	uint64_t kept;
	int r;

	*ret_full = false;
	memcpy(text, name, len);
	text[len] = '\0';
	coati_make_printable(text);
	name = text;
	if (coati_map_get_str(&j->names, name, &kept))
		return (const char *)(uintptr_t)kept;
	*ret_full = j->arena.used_bytes + strlen(name) + 32 > JIT_TEXT_MAX;
	copy = *ret_full ? NULL : coati_arena_strdup(&j->arena, name);
	r = copy ? coati_map_put_str(&j->names, copy, (uintptr_t)copy) : 0;
	*ret_full |= r == -E2BIG;
	return r < 0 ? NULL : copy;
}

int coati_jit_add(struct jit *j, uint64_t start, uint64_t size, const char *name, uint64_t time)
{
	struct range r = { .start = start, .time = time, .id = (uint32_t)j->functions.len };
	struct jit_function *f;
	const char *kept;
	bool full;

	if (!size || __builtin_add_overflow(start, size, &r.end)) {
		j->stats.malformed++;
		return 0;
	}
	if (j->functions.len >= JIT_FUNCTIONS_MAX) {
		j->stats.over++;
		return 0;
	}
	kept = keep_name(j, name, &full);
	if (!kept) {
		j->stats.over += full;
		return full ? 0 : -ENOMEM;
	}
	f = ARRAY_ADD(&j->functions);
	if (!f)
		return -ENOMEM;
	if (coati_ranges_add(&j->ranges, &r) < 0) {
		j->functions.len--;
		return -ENOMEM;
	}
	*f = (struct jit_function){ .name = kept, .start = start, .size = size };
	j->stats.functions++;
	return 0;
}

int coati_jit_remove(struct jit *j, uint64_t start, uint64_t size, uint64_t time)
{
	struct range r = { .start = start, .time = time, .id = RANGE_HOLE };

	if (!size || __builtin_add_overflow(start, size, &r.end))
		return 0;
	return coati_ranges_add(&j->ranges, &r) < 0 ? -ENOMEM : 0;
}

const struct jit_function *coati_jit_find(struct jit *j, uint64_t addr, uint64_t time,
					  uint64_t *ret_since)
{
	struct range r = { .end = UINT64_MAX };
	int found = coati_ranges_find(&j->ranges, addr, time ? time : UINT64_MAX, &r);

	*ret_since = found == 1 ? r.time : 0;
	return found == 1 && r.id != RANGE_HOLE ? &j->functions.v[r.id] : NULL;
}

const struct jit_line *coati_jit_line(const struct jit *j, const struct jit_function *f,
				      uint64_t addr)
{
	const struct jit_line *v = j->lines.v ? j->lines.v + f->first_line : NULL;
	size_t low = SEARCH(mid, 0, f->nr_lines, v[mid].addr <= addr);

	return low ? &v[low - 1] : NULL;
}
