/* SPDX-License-Identifier: MIT */
/*
 * The names of the keys of labels, by process. The describer brings them while the recorder uses
 * them: under a lock. An index never gets another name in the life of a process, so what was named
 * once stays right.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/leb128.h"
#include "capture/labels-parts.h"

#define PROCESSES_MAX ((size_t)1 << 16)
#define KEEP_NS	      (5 * NSEC_PER_SEC) /* names of a process that has ended */

/* Of one process. */
struct named {
	uint64_t family;
	struct context_keys keys;
};

int coati_label_names_init(struct label_names *n)
{
	coati_map_init(&n->processes, PROCESSES_MAX);
	coati_map_init(&n->families, PROCESSES_MAX);
	n->gone.max = PROCESSES_MAX;
	n->has_lock = pthread_mutex_init(&n->lock, NULL) == 0;
	return n->has_lock ? 0 : -ENOMEM;
}

static void free_named(struct named *p)
{
	if (p)
		coati_context_keys_fini(&p->keys);
	coati_free(p);
}

static struct named *find(const struct label_names *n, uint32_t pid)
{
	uint64_t at;

	return coati_map_get(&n->processes, pid, &at) ? (struct named *)(uintptr_t)at : NULL;
}

void coati_label_names_fini(struct label_names *n)
{
	uint64_t pid, at;
	size_t pos = 0;

	while (coati_map_next(&n->processes, &pos, &pid, &at))
		free_named((struct named *)(uintptr_t)at);
	coati_map_fini(&n->processes);
	coati_map_fini(&n->families);
	ARRAY_FINI(&n->gone);
	if (n->has_lock)
		pthread_mutex_destroy(&n->lock);
}

void coati_label_names_put(struct label_names *n, int32_t pid, uint64_t family,
			   struct context_keys *keys)
{
	struct named *p = coati_alloc(sizeof(*p)), *old;

	if (!p) {
		coati_context_keys_fini(keys);
		return;
	}
	*p = (struct named){ family, *keys };
	*keys = (struct context_keys){ 0 };
	pthread_mutex_lock(&n->lock);
	old = find(n, (uint32_t)pid);
	if (coati_map_put(&n->processes, (uint32_t)pid, (uintptr_t)p) < 0)
		old = p; /* without names its labels are counted */
	else
		(void)coati_map_put(&n->families, family, (uint32_t)pid);
	free_named(old);
	pthread_mutex_unlock(&n->lock);
}

void coati_label_names_gone(struct label_names *n, int32_t pid, uint64_t time)
{
	const struct named *p;
	struct label_gone *g;

	pthread_mutex_lock(&n->lock);
	p = find(n, (uint32_t)pid);
	g = p ? ARRAY_ADD(&n->gone) : NULL;
	if (g)
		*g = (struct label_gone){ time, p->family, (uint32_t)pid };
	pthread_mutex_unlock(&n->lock);
}

static void forget(struct label_names *n, const struct label_gone *g)
{
	struct named *p = find(n, g->pid);
	uint64_t pid;

	if (!p || p->family != g->family) /* another process has its number */
		return;
	coati_map_del(&n->processes, g->pid);
	if (coati_map_get(&n->families, g->family, &pid) && pid == g->pid)
		coati_map_del(&n->families, g->family);
	free_named(p);
}

void coati_label_names_clean(struct label_names *n, uint64_t time)
{
	size_t kept = 0;

	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < n->gone.len; i++) {
		if (time < n->gone.v[i].time + KEEP_NS)
			n->gone.v[kept++] = n->gone.v[i];
		else
			forget(n, &n->gone.v[i]);
	}
	n->gone.len = kept;
	pthread_mutex_unlock(&n->lock);
}

/* ---- labels ---- */

static uint8_t *put_text(uint8_t *at, const void *text, size_t size)
{
	at = uleb_put(at, size);
	memcpy(at, text, size);
	return at + size;
}

/* Of each key the last value counts; an empty one hides it, and a key without a name is left
 * out. */
static uint32_t write_set(const struct context_keys *keys, const uint8_t *entries, uint32_t size,
			  uint8_t *ret)
{
	uint16_t last[CONTEXT_KEYS_MAX];
	uint32_t pos, nr = 0;
	uint8_t *at = ret;

	for (pos = 0; pos < size; pos += LABEL_ENTRY + entries[pos + 1])
		last[entries[pos]] = (uint16_t)pos;
	for (pos = 0; pos < size && nr < LABELS_MOST; pos += LABEL_ENTRY + entries[pos + 1]) {
		const char *name = keys->names[entries[pos]];

		if (last[entries[pos]] != pos || !entries[pos + 1] || !*name)
			continue;
		at = put_text(at, name, strlen(name));
		at = put_text(at, entries + pos + LABEL_ENTRY, entries[pos + 1]);
		nr++;
	}
	return (uint32_t)(at - ret);
}

static uint32_t highest_key(const uint8_t *entries, uint32_t size)
{
	uint32_t most = 0;

	for (uint32_t pos = 0; pos < size; pos += LABEL_ENTRY + entries[pos + 1])
		most = entries[pos] > most ? entries[pos] : most;
	return most;
}

/* The keys that name index @most in the process: its own, or those of a process that it was forked
 * from or that was forked from it, of which both have the first ones. */
static const struct context_keys *find_keys(const struct label_names *n,
					    const struct raw_labels *raw, uint32_t most)
{
	const struct named *p = find(n, raw->pid);
	uint64_t pid;

	if (p && p->family == raw->family && most < p->keys.nr)
		return &p->keys;
	p = coati_map_get(&n->families, raw->family, &pid) ? find(n, (uint32_t)pid) : NULL;
	return p && p->family == raw->family && most < p->keys.nr ? &p->keys : NULL;
}

bool coati_label_names_apply(struct label_names *n, const struct label_bytes *b, uint8_t *ret,
			     uint32_t *ret_size)
{
	const uint32_t size = b->size - RAW_HEAD;
	const struct context_keys *keys;
	struct raw_labels raw;

	memcpy(&raw, b->bytes, b->size);
	pthread_mutex_lock(&n->lock);
	keys = find_keys(n, &raw, highest_key(raw.entries, size));
	if (keys)
		*ret_size = write_set(keys, raw.entries, size, ret);
	pthread_mutex_unlock(&n->lock);
	return keys;
}
