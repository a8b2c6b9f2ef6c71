/* SPDX-License-Identifier: MIT */
/*
 * Sites, categories and resource types. In: a descriptor of the program, at its first use. Out: its
 * number, its texts as a definition that outlives the library that it came from, and the bit of its
 * category. A site that was there before (a library loaded again) gets its old number. Safe.
 */
#include "live/tracer/ask.h"
#include "live/tracer/emit.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AREA_BYTES  (UINT64_C(1) << 20) /* of definitions; touched as they come */
#define TEXT_MAX    1023u
#define HEADS	    (2 * (LIVE_SITES_MAX + 1))
#define REFUSED_ID  UINT32_MAX
#define DEFINITIONS (AREA_BYTES / 8) /* none is shorter than that */

struct known_site {
	uint64_t hash;
	uint32_t at, size; /* in the area, from its kind on */
};

/* For the life of the process; a child inherits it with the numbers in its descriptors. */
static struct {
	uint8_t *area;
	struct known_site *known; /* by number less one */
	uint32_t *ends;		  /* of the definitions in the area */
	uint32_t *heads;	  /* open addressing: numbers */
	uint64_t used;
	uint32_t sites, types, definitions;
	uint32_t categories;
	char names[GATE_CATEGORIES - 1][32]; /* longer ones differ by these bytes */
} all;

static void *take(uint64_t bytes)
{
	long mem = syscall(SYS_mmap, NULL, (long)bytes, (long)(PROT_READ | PROT_WRITE),
			   (long)(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE), -1L, 0L);

	return mem == -1 ? NULL : (void *)(uintptr_t)mem;
}

static bool prepare(void)
{
	if (!all.area)
		all.area = take(AREA_BYTES);
	if (!all.known)
		all.known = take(sizeof(*all.known) * LIVE_SITES_MAX);
	if (!all.heads)
		all.heads = take(sizeof(*all.heads) * HEADS);
	if (!all.ends)
		all.ends = take(sizeof(*all.ends) * DEFINITIONS);
	return all.area && all.known && all.heads && all.ends;
}

static uint32_t text_size(const char *text)
{
	return text ? cut_text(text, strlen(text), TEXT_MAX) : 0;
}

/* A text that is too long ends in "...". */
static uint8_t *put_name(uint8_t *at, const char *text)
{
	uint32_t size = text_size(text);

	at = put_text(at, text ? text : "", size);
	if (text && text[size])
		memset(at - 3, '.', 3);
	return at;
}

/* ---- categories ---- */

/* "a,b": only these; "-a": all but these; "": all. */
static bool accepts(const char *filter, const char *name, size_t size)
{
	bool only = false, in = false;

	while (*filter) {
		size_t n = 0;
		bool minus = *filter == '-';

		filter += minus;
		while (filter[n] && filter[n] != ',')
			n++;
		if (n == size && !memcmp(filter, name, n)) {
			if (minus)
				return false;
			in = true;
		}
		only = only || (!minus && n);
		filter += n + (filter[n] == ',');
	}
	return in || !only;
}

static bool wanted(const char *name)
{
	for (uint32_t i = 0; i < TRACER_FILTERS; i++)
		if (coati_tracer.filters[i].used &&
		    accepts(coati_tracer.filters[i].text, name, strlen(name)))
			return true;
	return false;
}

static uint64_t all_bits(uint32_t count)
{
	return (UINT64_C(1) << count) - 1;
}

/* Who changes the way of events may do so at any time: an event that is on its way takes the one or
 * the other. */
void coati_tracer_publish_fast(void)
{
	struct tracer_hot *h = &coati_tracer_hot;
	bool plain = atomic_load_explicit(&h->cycles, memory_order_relaxed) &&
		     !atomic_load_explicit(&h->fenced, memory_order_relaxed) &&
		     !atomic_load_explicit(&h->stacks, memory_order_relaxed) &&
		     !coati_tracer.filtered;

	/* pairs with: relaxed in coati_region_begin(), ordered by barrier() of generation.c */
	atomic_store_explicit(&h->fast, plain ? tracer_generation() : 0, memory_order_seq_cst);
}

void coati_tracer_gate_update(void)
{
	const struct tracer *g = &coati_tracer;
	uint64_t gate = tracer_closed_gate();

	if (g->map) {
		/* A category that is new has its bit already: a thread may look at the gate before
		 * it gets one, and at the mask of its site after that. */
		gate |= GATE_ON | GATE_REST |
			(all_bits(GATE_CATEGORIES - 1) & ~all_bits(all.categories));
		for (uint32_t i = 0; i < all.categories; i++)
			if (wanted(all.names[i]))
				gate |= UINT64_C(1) << i;
		gate |= g->labels_wanted ? GATE_LABELS : 0;
		gate |= g->samples_wanted ? GATE_SAMPLES : 0;
	}
	coati_tracer.filtered = g->map && all_bits(all.categories) & ~gate;
	coati_tracer_publish_fast();
	__atomic_store_n(&coati_tracer_gate, gate, __ATOMIC_RELAXED);
}

static uint64_t category_bit(const char *category)
{
	const char *name = category ? category : "";
	size_t size = strlen(name);
	uint32_t i;

	size = size < sizeof(all.names[0]) ? size : sizeof(all.names[0]) - 1;
	for (i = 0; i < all.categories; i++)
		if (strlen(all.names[i]) == size && !memcmp(all.names[i], name, size))
			return UINT64_C(1) << i;
	if (i == GATE_CATEGORIES - 1)
		return GATE_REST;
	memcpy(all.names[i], name, size);
	all.names[i][size] = '\0';
	all.categories++;
	coati_tracer_gate_update();
	return UINT64_C(1) << i;
}

/* ---- definitions ---- */

/* The definition that ends at @end is now one of those that all threads see. */
static void publish(const uint8_t *end)
{
	struct live_map *map = coati_tracer.map;
	uint64_t from = all.used;

	all.used = (uint64_t)(end - all.area);
	all.ends[all.definitions++] = (uint32_t)all.used;
	if (!map || all.used > map->sites_bytes || map->sites_used != from)
		return;
	memcpy((uint8_t *)map + map->sites_at + from, all.area + from, all.used - from);
	/* pairs with: acquire of readers of the mapping */
	__atomic_store_n(&map->sites_used, all.used, __ATOMIC_RELEASE);
}

void coati_tracer_sites_copy(void)
{
	struct live_map *map = coati_tracer.map;
	uint64_t bytes = all.used <= map->sites_bytes ? all.used : 0;

	if (!bytes)
		return;
	memcpy((uint8_t *)map + map->sites_at, all.area, bytes);
	__atomic_store_n(&map->sites_used, bytes, __ATOMIC_RELEASE);
}

const uint8_t *coati_tracer_sites(const uint32_t **ret_ends, uint32_t *ret_count)
{
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	*ret_ends = all.ends;
	*ret_count = all.definitions;
	coati_tracer_unlock(&guard);
	return all.area;
}

uint32_t coati_tracer_site_count(void)
{
	return all.sites;
}

/* Everything behind the number, so that equal sites are equal bytes. */
static uint8_t *put_site(uint8_t *at, const struct coati_site *site)
{
	at = put_var(at, site->kind);
	at = put_var(at, site->line);
	at = put_name(at, site->name);
	at = put_name(at, site->category);
	at = put_name(at, site->file);
	at = put_name(at, site->function);
	return put_name(at, site->fields);
}

static uint64_t hash_of(const uint8_t *bytes, uint32_t size)
{
	return (uint64_t)live_checksum(bytes, size) << 32 | size;
}

/* Place of the site with these bytes among the heads, or of the free one where it would be. */
static uint32_t *find(const uint8_t *bytes, uint32_t size, uint64_t hash)
{
	uint32_t i = (uint32_t)(hash >> 32) % HEADS;

	while (all.heads[i]) {
		const struct known_site *k = &all.known[all.heads[i] - 1];

		if (k->hash == hash && !memcmp(all.area + k->at, bytes, size))
			break;
		i = (i + 1) % HEADS;
	}
	return &all.heads[i];
}

/* Its number; 0 when there is no room. Under the lock. */
static uint32_t number_of(const struct coati_site *site)
{
	uint8_t *start = all.area + all.used, *body, *end;
	uint32_t size, *head;
	uint64_t hash;

	if (all.used + 5 * (TEXT_MAX + VAR_MAX) + 64 > AREA_BYTES || all.sites == LIVE_SITES_MAX)
		return 0;
	body = put_var(put_kind(start, LIVE_SITE), all.sites + 1);
	end = put_site(body, site);
	size = (uint32_t)(end - body);
	hash = hash_of(body, size);
	head = find(body, size, hash);
	if (*head)
		return *head;
	all.known[all.sites++] = (struct known_site){ hash, (uint32_t)(body - all.area), size };
	*head = all.sites;
	publish(end);
	return all.sites;
}

/* The begin of a region with a time of two bytes, which are 0 here: kind, time, number, and in the
 * last byte the size of that. */
static uint64_t quick_of(const struct coati_site *site)
{
	uint8_t bytes[8] = { LIVE_REGION_BEGIN | 1 << 5 };
	uint64_t quick;

	if (site->kind != COATI_SITE_REGION || site->flags)
		return 0;
	bytes[7] = (uint8_t)(put_var(bytes + 3, site->id) - bytes);
	memcpy(&quick, bytes, sizeof(quick));
	return quick;
}

static void enter_site(struct coati_site *site)
{
	uint32_t id = prepare() ? number_of(site) : 0;

	if (!id) {
		coati_tracer.sites_refused++;
		__atomic_store_n(&site->mask, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&site->id, REFUSED_ID, __ATOMIC_RELAXED);
		return;
	}
	if (site->min_ns)
		__atomic_store_n(&site->flags, site->flags | COATI_SITE_LAZY, __ATOMIC_RELAXED);
	if (site->mask)
		__atomic_store_n(&site->mask, category_bit(site->category), __ATOMIC_RELAXED);
	__atomic_store_n(&site->id, id, __ATOMIC_RELEASE);
	if (site->mask)
		__atomic_store_n(&site->quick, quick_of(site), __ATOMIC_RELAXED);
}

void coati_site_switch(struct coati_site *site, int on)
{
	struct tracer_guard guard;

	if (coati_tracer_holds())
		return; /* a handler of a fault in the tracer itself */
	coati_tracer_lock(&guard);
	if (!on || site->id == REFUSED_ID) {
		__atomic_store_n(&site->quick, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&site->mask, 0, __ATOMIC_RELAXED);
	} else if (!site->id) {
		__atomic_store_n(&site->mask, ~UINT64_C(0), __ATOMIC_RELAXED);
	} else {
		__atomic_store_n(&site->mask, category_bit(site->category), __ATOMIC_RELAXED);
		__atomic_store_n(&site->quick, quick_of(site), __ATOMIC_RELAXED);
	}
	coati_tracer_unlock(&guard);
}

static bool may_enter(void)
{
	return tracer_generation() || tracer_keeps();
}

bool coati_tracer_site(struct coati_site *site)
{
	struct tracer_guard guard;

	if (unlikely(!__atomic_load_n(&site->id, __ATOMIC_ACQUIRE))) {
		if (!tracer_generation() && tracer_gate() & GATE_ASKED)
			coati_tracer_asked();
		if (!may_enter())
			return false;
		if (coati_tracer_holds()) {
			if (tracer_generation())
				coati_tracer_lose_orphan();
			return false;
		}
		coati_tracer_lock(&guard);
		/* once more: between two recordings the memory is made and taken away without the
		 * lock */
		if (!site->id && may_enter())
			enter_site(site);
		coati_tracer_unlock(&guard);
	}
	return __atomic_load_n(&site->id, __ATOMIC_RELAXED) &&
	       tracer_gate() & __atomic_load_n(&site->mask, __ATOMIC_RELAXED);
}

/* ---- types of resources ---- */

static uint32_t type_number(const struct coati_resource_type *type)
{
	uint8_t *at = all.area + all.used;
	uint64_t worst = 64 + (uint64_t)(type->count + 1) * (TEXT_MAX + 2 * VAR_MAX);

	if (type->count > 64 || all.used + worst > AREA_BYTES)
		return 0;
	at = put_var(put_kind(at, LIVE_TYPE), all.types + 1);
	at = put_name(at, type->name);
	at = put_var(at, type->count);
	for (uint32_t i = 0; i < type->count; i++) {
		at = put_name(at, type->states[i]);
		at = put_var(at, type->next ? type->next[i] : ~UINT64_C(0));
	}
	publish(at);
	return ++all.types;
}

bool coati_tracer_type(struct coati_resource_type *type)
{
	struct tracer_guard guard;
	uint32_t id = __atomic_load_n(&type->id, __ATOMIC_ACQUIRE);

	if (!id && tracer_generation() && !coati_tracer_holds()) {
		coati_tracer_lock(&guard);
		if (!type->id && tracer_generation()) {
			id = prepare() ? type_number(type) : 0;
			coati_tracer.sites_refused += !id;
			__atomic_store_n(&type->id, id ? id : REFUSED_ID, __ATOMIC_RELEASE);
		}
		id = type->id;
		coati_tracer_unlock(&guard);
	}
	return id && id != REFUSED_ID;
}
