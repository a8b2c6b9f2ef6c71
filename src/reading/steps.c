/* SPDX-License-Identifier: MIT */
/* see steps.h */
#include "reading/steps.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "base/search.h"

#define BLOCK	    64
#define STEP_BYTES  (2 * LEB128_MAX)
#define BYTES_FIRST 64
#define MARKS_MAX   ((size_t)1 << 32)

static int make_room(struct steps *s)
{
	size_t room = s->room ? s->room + s->room / 2 : BYTES_FIRST;
	uint8_t *bytes;

	if (s->room - s->used >= STEP_BYTES)
		return 0;
	bytes = coati_realloc_array(s->bytes, room, 1);
	if (!bytes)
		return -ENOMEM;
	s->bytes = bytes;
	s->room = room;
	return 0;
}

/* What was the last one until now. */
static int write_last(struct steps *s)
{
	struct steps_mark *mark;
	struct writer w;

	if (!s->nr_block || s->nr_block == BLOCK) {
		s->marks.max = MARKS_MAX;
		mark = ARRAY_ADD(&s->marks);
		if (!mark)
			return -ENOMEM;
		*mark = (struct steps_mark){ s->last_time, s->used, s->last_state };
		s->nr_block = 1;
	} else {
		if (make_room(s) < 0)
			return -ENOMEM;
		w = writer_over(s->bytes + s->used, STEP_BYTES);
		writer_uleb(&w, s->last_time - s->written_time);
		writer_uleb(&w, s->last_state);
		s->used += w.len;
		s->nr_block++;
	}
	s->written_time = s->last_time;
	return 0;
}

int coati_steps_add(struct steps *s, uint64_t time, uint32_t state)
{
	int r = s->any ? write_last(s) : 0;

	if (r < 0)
		return r;
	s->last_time = time;
	s->last_state = state;
	s->any = true;
	return 0;
}

uint32_t coati_steps_find(const struct steps *s, uint64_t time)
{
	const struct steps_mark *m;
	struct cursor c;
	size_t at, end;
	uint64_t then;
	uint32_t state;

	if (s->any && time >= s->last_time)
		return s->last_state;
	at = SEARCH(i, 0, s->marks.len, s->marks.v[i].time <= time);
	if (!at)
		return 0;
	m = &s->marks.v[at - 1];
	end = at < s->marks.len ? (size_t)s->marks.v[at].at : s->used;
	c = cursor_over(s->bytes ? s->bytes + m->at : NULL, end - (size_t)m->at);
	then = m->time;
	for (state = m->state; cursor_left(&c);) {
		then += cursor_uleb(&c);
		if (then > time)
			break;
		state = (uint32_t)cursor_uleb(&c);
	}
	return state;
}

void coati_steps_trim(struct steps *s, uint64_t before)
{
	size_t at = SEARCH(i, 0, s->marks.len, s->marks.v[i].time <= before);
	uint64_t first;

	if (at < 2)
		return;
	at--; /* of the block that has the step at @before */
	first = s->marks.v[at].at;
	s->marks.len -= at;
	memmove(s->marks.v, s->marks.v + at, s->marks.len * sizeof(*s->marks.v));
	for (size_t i = 0; i < s->marks.len; i++)
		s->marks.v[i].at -= first;
	s->used -= (size_t)first;
	memmove(s->bytes, s->bytes + first, s->used);
}

void coati_steps_fini(struct steps *s)
{
	ARRAY_FINI(&s->marks);
	coati_free(s->bytes);
	*s = (struct steps){ 0 };
}
