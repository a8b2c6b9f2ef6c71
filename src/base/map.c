/* SPDX-License-Identifier: MIT */
/*
 * Keys and values come in, are kept in a table of a power of two slots that is at most three
 * quarters full, and are found by linear probing. Deleting closes the gap, so a probe ends at the
 * first empty slot. Both kinds of map share the code: the key of a string map is the address of the
 * string.
 */
#include "base/map.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"

#define FIRST_CAP ((size_t)16)

struct map_slot {
	uint64_t hash; /* 0: empty */
	uint64_t key, value;
};

static uint64_t rotate(uint64_t x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

/* Both halves of the full product: every bit of the operands reaches every bit of the result. */
static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static const char *key_text(uint64_t key)
{
	return (const char *)(uintptr_t)key;
}

static uint64_t hash_of(const struct map *m, uint64_t key)
{
	uint64_t hash = m->strings ? coati_hash_bytes(key_text(key), strlen(key_text(key)), m->seed)
				   : coati_hash_u64(key, m->seed);

	return hash ? hash : 1;
}

static bool same_key(const struct map *m, uint64_t a, uint64_t b)
{
	return m->strings ? !strcmp(key_text(a), key_text(b)) : a == b;
}

/* The slot that holds @key, or the empty one where it belongs. The table must have an empty
 * slot. */
static struct map_slot *find(const struct map *m, uint64_t key, uint64_t hash)
{
	size_t i = hash & (m->cap - 1);

	for (;; i = (i + 1) & (m->cap - 1)) {
		struct map_slot *s = &m->slots[i];

		if (!s->hash || (s->hash == hash && same_key(m, s->key, key)))
			return s;
	}
}

static int grow(struct map *m)
{
	struct map bigger = *m;

	bigger.cap = m->cap ? m->cap * 2 : FIRST_CAP;
	bigger.slots = coati_alloc_array(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].hash)
			*find(&bigger, m->slots[i].key, m->slots[i].hash) = m->slots[i];
	coati_free(m->slots);
	*m = bigger;
	return 0;
}

static void init(struct map *m, size_t max_entries, bool strings)
{
	*m = (struct map){ .max = max_entries, .strings = strings };
	/* without entropy (early boot, a sandbox) an address and the time must do */
	if (getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) != sizeof(m->seed))
		m->seed = coati_hash_u64(now_ns(), (uintptr_t)m);
}

void coati_map_init(struct map *m, size_t max_entries)
{
	init(m, max_entries, false);
}

void coati_map_init_strings(struct map *m, size_t max_entries)
{
	init(m, max_entries, true);
}

void coati_map_fini(struct map *m)
{
	coati_free(m->slots);
	m->slots = NULL;
	m->len = m->cap = 0;
}

int coati_map_put(struct map *m, uint64_t key, uint64_t value)
{
	uint64_t hash = hash_of(m, key);
	struct map_slot *s = m->cap ? find(m, key, hash) : NULL;

	if (s && s->hash) {
		s->value = value;
		return 0;
	}
	if (m->len >= m->max)
		return -E2BIG;
	if (!s || m->len >= m->cap / 4 * 3) {
		int r = grow(m);

		if (r < 0)
			return r;
		s = find(m, key, hash);
	}
	*s = (struct map_slot){ .hash = hash, .key = key, .value = value };
	m->len++;
	return 1;
}

bool coati_map_get(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	const struct map_slot *s = m->cap ? find(m, key, hash_of(m, key)) : NULL;

	if (!s || !s->hash)
		return false;
	*ret_value = s->value;
	return true;
}

bool coati_map_del(struct map *m, uint64_t key)
{
	struct map_slot *gap = m->cap ? find(m, key, hash_of(m, key)) : NULL;
	size_t mask = m->cap - 1, at;

	if (!gap || !gap->hash)
		return false;
	at = (size_t)(gap - m->slots);
	for (size_t i = (at + 1) & mask; m->slots[i].hash; i = (i + 1) & mask) {
		/* an entry moves into the gap unless its probe would then start behind it */
		size_t probed = (i - (m->slots[i].hash & mask)) & mask;

		if (probed >= ((i - at) & mask)) {
			m->slots[at] = m->slots[i];
			at = i;
		}
	}
	m->slots[at] = (struct map_slot){ 0 };
	m->len--;
	return true;
}

int coati_map_put_str(struct map *m, const char *key, uint64_t value)
{
	return coati_map_put(m, (uintptr_t)key, value);
}

bool coati_map_get_str(const struct map *m, const char *key, uint64_t *ret_value)
{
	return coati_map_get(m, (uintptr_t)key, ret_value);
}

bool coati_map_next(const struct map *m, size_t *pos, uint64_t *ret_key, uint64_t *ret_value)
{
	while (*pos < m->cap) {
		const struct map_slot *s = &m->slots[(*pos)++];

		if (!s->hash)
			continue;
		*ret_key = s->key;
		*ret_value = s->value;
		return true;
	}
	return false;
}

/* Up to 16 bytes as two words; what is missing is zero, and the length tells it apart. */
static void load_tail(const unsigned char *bytes, size_t len, uint64_t words[2])
{
	words[0] = words[1] = 0;
	if (len)
		memcpy(words, bytes, len);
}

/*
 * Two words a multiplication. The author of a crafted file knows neither the seed nor what is made
 * of it, and one of them is in each operand: no input makes an operand zero or two steps alike on
 * purpose. docs/decisions.md says why this and not SipHash.
 */
uint64_t coati_hash_bytes(const void *p, size_t len, uint64_t seed)
{
	const uint64_t key = coati_hash_u64(seed, 0x2545f4914f6cdd1du);
	const unsigned char *bytes = p;
	uint64_t h = seed ^ 0x8ebc6af09c88c6e3u, words[2];
	size_t left = len;

	for (; left > sizeof(words); left -= sizeof(words), bytes += sizeof(words)) {
		memcpy(words, bytes, sizeof(words));
		h = multiply_fold(words[0] ^ h, words[1] ^ key) ^ rotate(h, 23);
	}
	load_tail(bytes, left, words);
	h = multiply_fold(words[0] ^ h, words[1] ^ key) ^ rotate(h, 23);
	return multiply_fold(h ^ key, (uint64_t)len ^ rotate(key, 32) ^ 0x589965cc75374cc3u);
}

uint64_t coati_hash_u64(uint64_t x, uint64_t seed)
{
	uint64_t h = multiply_fold(x ^ seed, 0x9e3779b97f4a7c15u);

	return multiply_fold(h ^ rotate(seed, 32), 0xd6e8feb86659fd93u);
}
