/* SPDX-License-Identifier: MIT */
/* see context.h */
#include "process/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/proto.h"

#define NAME	      "OTEL_CTX"
#define HEAD_BYTES    32
#define TIME_AT	      16
#define VERSION	      2
#define MESSAGE_MAX   (1u << 20)
#define TRIES	      4
#define SCHEMA_KEY    "threadlocal.schema_version"
#define SCHEMA_PREFIX "tlsdesc_v1" /* of the layout that is known, with what it is called yet */
#define MAP_KEY	      "threadlocal.attribute_key_map"

bool coati_context_is_mapping(const struct coati_mmap *m)
{
	static const char *const names[] = { "[anon_shmem:" NAME "]", "[anon:" NAME "]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(m->name, names[i]))
			return true;
	return !strncmp(m->name, "/memfd:" NAME, strlen("/memfd:" NAME));
}

void coati_context_keys_fini(struct context_keys *keys)
{
	for (uint32_t i = 0; i < keys->nr; i++)
		coati_free(keys->names[i]);
	*keys = (struct context_keys){ 0 };
}

/* ---- the message ---- */

/* The next field @number that is bytes. */
static bool next_bytes(struct proto_reader *r, uint32_t number)
{
	while (coati_proto_next(r))
		if (r->field == number && r->wire == PROTO_BYTES)
			return true;
	return false;
}

static bool is_text(const struct proto_reader *r, const char *text)
{
	return r->size == strlen(text) && !memcmp(r->bytes, text, r->size);
}

static int add_key(struct context_keys *keys, const uint8_t *name, size_t size)
{
	bool fits = size && size <= CONTEXT_KEY_MAX && !memchr(name, '\0', size);
	char *copy = coati_alloc((fits ? size : 0) + 1);

	if (!copy)
		return -ENOMEM;
	if (fits)
		memcpy(copy, name, size);
	keys->names[keys->nr++] = copy;
	return 0;
}

/* AnyValue of names, in the order of their indexes. */
static int add_keys(struct context_keys *keys, struct proto_reader value)
{
	struct proto_reader array, text;
	int r = 0;

	if (!next_bytes(&value, 5))
		return -EBADMSG;
	array = proto_sub(&value);
	while (r == 0 && keys->nr < CONTEXT_KEYS_MAX && next_bytes(&array, 1)) {
		text = proto_sub(&array);
		/* one that is no text takes a place, too */
		r = next_bytes(&text, 1) ? add_key(keys, text.bytes, text.size)
					 : add_key(keys, NULL, 0);
		if (r == 0 && text.bad)
			r = -EBADMSG;
	}
	return r == 0 && array.bad ? -EBADMSG : r;
}

/* One attribute: 1 it is the schema, and known. */
static int take_attribute(struct context_keys *keys, struct proto_reader pair)
{
	struct proto_reader value = pair, text;

	if (!next_bytes(&pair, 1) || !next_bytes(&value, 2))
		return 0;
	value = proto_sub(&value);
	if (is_text(&pair, MAP_KEY))
		return keys->nr ? 0 : add_keys(keys, value);
	if (!is_text(&pair, SCHEMA_KEY))
		return 0;
	text = value;
	return next_bytes(&text, 1) && text.size >= strlen(SCHEMA_PREFIX) &&
	       !memcmp(text.bytes, SCHEMA_PREFIX, strlen(SCHEMA_PREFIX));
}

int coati_context_parse_keys(const uint8_t *message, size_t size, struct context_keys *ret)
{
	struct proto_reader r = proto_over(message, size);
	bool is_known = false;
	int n = 0;

	*ret = (struct context_keys){ 0 };
	while (n >= 0 && next_bytes(&r, 2)) {
		n = take_attribute(ret, proto_sub(&r));
		is_known |= n > 0;
	}
	if (n >= 0 && (r.bad || !is_known))
		n = -EBADMSG;
	if (n >= 0)
		return 0;
	coati_context_keys_fini(ret);
	return n;
}

/* ---- memory of the process ---- */

struct head {
	char signature[8];
	uint32_t version, size;
	uint64_t time, message;
};

_Static_assert(sizeof(struct head) == HEAD_BYTES, "OTEP 4719");

/* By when what was published at @time of CLOCK_BOOTTIME was there, in CLOCK_MONOTONIC. Now, when
 * that cannot be. */
static uint64_t known_by(uint64_t time)
{
	uint64_t boot = clock_ns(CLOCK_BOOTTIME), now = now_ns(), asleep;

	asleep = boot > now ? boot - now : 0;
	return time > asleep && time - asleep < now ? time - asleep : now;
}

/* The message as of one time: 1, 0 when it was changed meanwhile. */
static int read_message(int mem, uint64_t addr, const struct head *h, struct context_keys *ret)
{
	CLEANUP(freep) uint8_t *message = coati_alloc(h->size + (size_t)1);
	uint64_t time;
	int r = message ? coati_pread_all(mem, message, h->size, h->message) : -ENOMEM;

	if (r == 0)
		r = coati_pread_all(mem, &time, sizeof(time), addr + TIME_AT);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	if (time != h->time)
		return 0;
	r = coati_context_parse_keys(message, h->size, ret);
	if (r < 0)
		return r;
	ret->time = time;
	ret->known_ns = known_by(time);
	return 1;
}

int coati_context_read_keys(int mem, uint64_t addr, struct context_keys *ret)
{
	const uint64_t begun = now_ns();
	struct head h;
	int r = 0;

	*ret = (struct context_keys){ 0 };
	for (int i = 0; r == 0 && i < TRIES; i++) {
		if (coati_pread_all(mem, &h, sizeof(h), addr) < 0 ||
		    memcmp(h.signature, NAME, sizeof(h.signature)) != 0 || h.version != VERSION ||
		    h.size > MESSAGE_MAX || h.message >> 63)
			return -EBADMSG;
		r = h.time ? read_message(mem, addr, &h, ret) : 0;
	}
	ret->begun_ns = begun;
	return r > 0 ? 0 : r < 0 ? r : -EAGAIN;
}
