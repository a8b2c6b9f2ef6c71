/* SPDX-License-Identifier: MIT */
/*
 * The names of the keys of labels, by process. The describer brings them while the recorder uses
 * them: under a lock. A child has the keys that its parent had published before the fork. An index
 * never gets another name in the life of a process, so what was named once stays right.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/leb128.h"
#include "capture/labels-parts.h"

#define PROCESSES_MAX ((size_t)1 << 16)
#define NAMES_BYTES   ((size_t)64 << 20) /* of all processes */
#define KEEP_NS	      (5 * NSEC_PER_SEC) /* names of a process that has ended */

/* Of one process. */
struct named {
	uint64_t family;
	uint64_t begun_ns; /* it has the number since then or longer */
	size_t bytes;
	struct context_keys keys;
	uint64_t since[CONTEXT_KEYS_MAX]; /* by when each key was published */
};

int coati_label_names_init(struct label_names *n)
{
	coati_map_init(&n->processes, PROCESSES_MAX);
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
	ARRAY_FINI(&n->gone);
	if (n->has_lock)
		pthread_mutex_destroy(&n->lock);
}

/* ---- under the lock ---- */

static void drop(struct label_names *n, uint32_t pid)
{
	struct named *p = find(n, pid);

	if (!p)
		return;
	coati_map_del(&n->processes, pid);
	n->bytes -= p->bytes;
	free_named(p);
}

/* In place of what @pid had. Without names its labels are counted. */
static void put(struct label_names *n, uint32_t pid, struct named *p)
{
	drop(n, pid);
	p->bytes = sizeof(*p);
	for (uint32_t i = 0; i < p->keys.nr; i++)
		p->bytes += strlen(p->keys.names[i]) + 1;
	if (n->bytes + p->bytes > NAMES_BYTES ||
	    coati_map_put(&n->processes, pid, (uintptr_t)p) < 0) {
		free_named(p);
		return;
	}
	n->bytes += p->bytes;
}

/* The keys that it had are still known since then; other names take back what was made of them. */
static void compare(struct label_names *n, const struct named *old, struct named *p)
{
	for (uint32_t i = 0; i < p->keys.nr && i < old->keys.nr; i++) {
		if (strcmp(p->keys.names[i], old->keys.names[i]) != 0)
			n->are_others = true;
		else if (old->since[i] < p->since[i])
			p->since[i] = old->since[i];
	}
}

/* ---- of processes ---- */

void coati_label_names_put(struct label_names *n, int32_t pid, uint64_t family,
			   struct context_keys *keys)
{
	struct named *p = coati_alloc(sizeof(*p));
	const struct named *old;

	if (!p) {
		coati_context_keys_fini(keys);
		return;
	}
	*p = (struct named){ .family = family, .begun_ns = keys->begun_ns, .keys = *keys };
	*keys = (struct context_keys){ 0 };
	for (uint32_t i = 0; i < p->keys.nr; i++)
		p->since[i] = p->keys.known_ns;
	pthread_mutex_lock(&n->lock);
	old = find(n, (uint32_t)pid);
	if (old && old->family == family)
		compare(n, old, p);
	put(n, (uint32_t)pid, p);
	pthread_mutex_unlock(&n->lock);
}

/* The first keys of @from, which were published by @time. NULL: there are none. */
static struct named *inherit(const struct named *from, uint64_t time)
{
	struct named *p;
	uint32_t nr = 0;

	while (from && nr < from->keys.nr && from->since[nr] <= time)
		nr++;
	p = nr ? coati_alloc(sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->family = from->family;
	p->begun_ns = time;
	for (; p->keys.nr < nr; p->keys.nr++) {
		p->keys.names[p->keys.nr] = coati_strdup(from->keys.names[p->keys.nr]);
		if (!p->keys.names[p->keys.nr])
			break;
		p->since[p->keys.nr] = from->since[p->keys.nr];
	}
	return p;
}

void coati_label_names_forked(struct label_names *n, uint32_t pid, uint32_t parent, uint64_t time)
{
	const struct named *old;
	struct named *p;

	pthread_mutex_lock(&n->lock);
	old = find(n, pid);
	if (!old || old->begun_ns < time) {
		n->are_others |= old != NULL; /* of who had the number before */
		p = inherit(find(n, parent), time);
		if (p)
			put(n, pid, p);
		else
			drop(n, pid);
	}
	pthread_mutex_unlock(&n->lock);
}

bool coati_label_names_are_others(struct label_names *n)
{
	bool are_others;

	pthread_mutex_lock(&n->lock);
	are_others = n->are_others;
	n->are_others = false;
	pthread_mutex_unlock(&n->lock);
	return are_others;
}

void coati_label_names_gone(struct label_names *n, int32_t pid, uint64_t time)
{
	struct label_gone *g;

	pthread_mutex_lock(&n->lock);
	g = find(n, (uint32_t)pid) ? ARRAY_ADD(&n->gone) : NULL;
	if (g)
		*g = (struct label_gone){ time, (uint32_t)pid };
	pthread_mutex_unlock(&n->lock);
}

static void forget(struct label_names *n, const struct label_gone *g)
{
	const struct named *p = find(n, g->pid);

	if (p && p->begun_ns <= g->time) /* else another process has its number */
		drop(n, g->pid);
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

/* The keys that name index @most in the process. Those of its relatives do not: what each of them
 * published after the fork is its own. */
static const struct context_keys *find_keys(const struct label_names *n,
					    const struct raw_labels *raw, uint32_t most)
{
	const struct named *p = find(n, raw->pid);

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
