/* SPDX-License-Identifier: MIT */
/* see live-pack.h */
#include "format/live-pack.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "format/live-events.h"

#define CHUNK_FIRST 256 /* bytes: there may be many threads with little in them */
#define CHUNK_BYTES (64u << 10)
#define ITEM_BYTES  112 /* at most, without arguments */
#define ARG_BYTES   24	/* at most, of each */
#define CHUNKS_MAX  ((size_t)1 << 32)

/* ---- numbers ---- */

static inline uint8_t *put_number(uint8_t *at, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at++ = (uint8_t)v;
	return at;
}

/* Small differences in both directions are short. */
static inline uint8_t *put_step(uint8_t *at, uint64_t from, uint64_t to)
{
	uint64_t d = to - from;

	return put_number(at, d << 1 ^ (uint64_t)((int64_t)d >> 63));
}

static inline uint8_t *put_raw(uint8_t *at, const void *v)
{
	memcpy(at, v, sizeof(uint64_t));
	return at + sizeof(uint64_t);
}

static inline uint64_t get_number(const uint8_t **at)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;

	do {
		b = *(*at)++;
		v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static inline uint64_t get_step(const uint8_t **at, uint64_t from)
{
	uint64_t v = get_number(at);

	return from + (v >> 1 ^ (0 - (v & 1)));
}

static inline void get_raw(const uint8_t **at, void *ret)
{
	memcpy(ret, *at, sizeof(uint64_t));
	*at += sizeof(uint64_t);
}

/* ---- writing ---- */

static uint8_t *put_args(uint8_t *at, const struct live_item *i)
{
	at = put_number(at, i->nr_args);
	for (uint32_t n = 0; n < i->nr_args; n++) {
		const struct live_arg *a = &i->args[n];

		at = put_raw(at, &a->name);
		at = put_number(at, a->letter);
		if (a->letter == 's')
			at = put_raw(at, &a->text);
		else if (a->letter == 'd')
			at = put_raw(at, &a->real);
		else
			at = put_raw(at, &a->number);
	}
	return at;
}

/* What items of its kind have of their own. */
static uint8_t *put_own(struct live_pack *p, uint8_t *at, const struct live_item *i)
{
	switch (i->kind) {
	case ITEM_TASK:
	case ITEM_ENTER:
	case ITEM_FLOW:
		at = put_step(at, p->last.id, i->id);
		p->last.id = i->id;
		return i->kind == ITEM_ENTER ? at : put_step(at, 0, i->parent);
	case ITEM_STATE:
		at = put_raw(put_number(at, i->place), &i->name);
		return put_args(at, i);
	case ITEM_LOG:
		return put_raw(at, &i->name);
	case ITEM_LOSS:
		return put_step(put_raw(at, &i->name), 0, (uint64_t)i->number);
	case ITEM_INSTANT:
	case ITEM_LABELS:
		return put_args(at, i);
	case ITEM_COUNTER:
		return put_raw(put_number(at, i->place), &i->number);
	default:
		return at;
	}
}

static struct pack_chunk *find_room(struct live_pack *p, size_t need)
{
	struct pack_chunk *c = p->chunks.len ? &p->chunks.v[p->chunks.len - 1] : NULL;
	size_t room = c ? 2 * (size_t)c->room : CHUNK_FIRST;
	uint8_t *bytes;

	if (c && c->room - c->used >= need)
		return c;
	p->chunks.max = CHUNKS_MAX;
	room = room < CHUNK_BYTES ? room : CHUNK_BYTES;
	room = room > need ? room : need;
	bytes = coati_realloc_array(NULL, room, 1);
	c = bytes ? ARRAY_ADD(&p->chunks) : NULL;
	if (!c) {
		coati_free(bytes);
		return NULL;
	}
	*c = (struct pack_chunk){ .bytes = bytes, .room = (uint32_t)room };
	return c;
}

int coati_pack_add(struct live_pack *p, const struct live_item *i)
{
	struct pack_chunk *c = find_room(p, ITEM_BYTES + (size_t)ARG_BYTES * i->nr_args);
	uint8_t *at;

	if (!c)
		return -ENOMEM;
	at = c->bytes + c->used;
	*at++ = (uint8_t)(i->kind | i->lane << 4);
	*at++ = i->flags;
	at = put_step(at, p->last.begin, i->begin);
	if (live_is_slice(i))
		at = put_number(at, i->end - i->begin);
	at = put_step(at, p->last.order, i->order);
	at = put_number(at, i->thread);
	at = put_number(at, i->site ? (uint64_t)i->site->number + 1 : 0);
	at = put_own(p, at, i);
	c->used = (uint32_t)(at - c->bytes);
	p->last.begin = i->begin;
	p->last.order = i->order;
	p->nr++;
	return 0;
}

void coati_pack_fini(struct live_pack *p)
{
	for (size_t i = 0; i < p->chunks.len; i++)
		coati_free(p->chunks.v[i].bytes);
	ARRAY_FINI(&p->chunks);
	*p = (struct live_pack){ 0 };
}

/* ---- reading ---- */

void coati_unpack_init(struct live_unpack *u, const struct live_pack *p,
		       struct live_site *const *sites)
{
	/* only what frees writes to it */
	*u = (struct live_unpack){ .pack = (struct live_pack *)(uintptr_t)p, .sites = sites };
	u->at = p->chunks.len ? p->chunks.v[0].bytes : NULL;
}

void coati_unpack_consume(struct live_unpack *u, struct live_pack *p,
			  struct live_site *const *sites)
{
	coati_unpack_init(u, p, sites);
	u->frees = true;
}

void coati_unpack_fini(struct live_unpack *u)
{
	coati_free(u->args.v);
	if (u->frees)
		coati_pack_fini(u->pack);
	*u = (struct live_unpack){ 0 };
}

static bool get_args(struct live_unpack *u, struct live_item *i)
{
	size_t nr = (size_t)get_number(&u->at);
	struct live_arg *v = u->args.v;

	if (nr > u->args.room) {
		v = coati_realloc_array(v, nr, sizeof(*v));
		u->failed = !v;
		if (!v)
			return false;
		u->args.v = v;
		u->args.room = nr;
	}
	for (size_t n = 0; n < nr; n++) {
		v[n] = (struct live_arg){ .text = "" };
		get_raw(&u->at, &v[n].name);
		v[n].letter = (uint32_t)get_number(&u->at);
		if (v[n].letter == 's')
			get_raw(&u->at, &v[n].text);
		else if (v[n].letter == 'd')
			get_raw(&u->at, &v[n].real);
		else
			get_raw(&u->at, &v[n].number);
	}
	i->nr_args = (uint16_t)nr;
	i->args = v;
	return true;
}

static bool get_own(struct live_unpack *u, struct live_item *i)
{
	switch (i->kind) {
	case ITEM_TASK:
	case ITEM_ENTER:
	case ITEM_FLOW:
		u->last.id = i->id = get_step(&u->at, u->last.id);
		if (i->kind == ITEM_ENTER)
			i->name = i->site ? i->site->name : "";
		else
			i->parent = get_step(&u->at, 0);
		return true;
	case ITEM_STATE:
		i->place = (uint32_t)get_number(&u->at);
		get_raw(&u->at, &i->name);
		return get_args(u, i);
	case ITEM_LOG:
		get_raw(&u->at, &i->name);
		return true;
	case ITEM_LOSS:
		get_raw(&u->at, &i->name);
		i->number = (int64_t)get_step(&u->at, 0);
		return true;
	case ITEM_INSTANT:
	case ITEM_LABELS:
		return get_args(u, i);
	case ITEM_COUNTER:
		i->place = (uint32_t)get_number(&u->at);
		get_raw(&u->at, &i->number);
		return true;
	default:
		return true;
	}
}

static bool next_chunk(struct live_unpack *u)
{
	struct pack_chunk *c = u->pack->chunks.v;

	if (u->chunk < u->pack->chunks.len && u->frees) {
		coati_free(c[u->chunk].bytes);
		c[u->chunk].bytes = NULL;
	}
	if (u->chunk + 1 >= u->pack->chunks.len)
		return false;
	u->at = c[++u->chunk].bytes;
	return true;
}

bool coati_unpack_next(struct live_unpack *u, struct live_item *ret)
{
	const struct pack_chunk *c;
	uint64_t site;

	if (!u->at)
		return false;
	c = &u->pack->chunks.v[u->chunk];
	if (u->at == c->bytes + c->used && !next_chunk(u)) {
		u->at = NULL;
		return false;
	}
	*ret = (struct live_item){ .name = "", .place = LIVE_NONE };
	ret->kind = (unsigned int)*u->at & 15;
	ret->lane = (unsigned int)*u->at++ >> 4 & 15;
	ret->flags = *u->at++;
	u->last.begin = ret->begin = get_step(&u->at, u->last.begin);
	ret->end = ret->begin + (live_is_slice(ret) ? get_number(&u->at) : 0);
	u->last.order = ret->order = (uint32_t)get_step(&u->at, u->last.order);
	ret->thread = (uint32_t)get_number(&u->at);
	site = get_number(&u->at);
	ret->site = site ? u->sites[site - 1] : NULL;
	return get_own(u, ret);
}
