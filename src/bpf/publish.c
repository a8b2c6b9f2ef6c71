/* SPDX-License-Identifier: MIT */
/*
 * Tables and mappings into the memory that the walker reads. The order is: contents, then the entry
 * that leads to them; and for what goes away: the entry, then the memory. A mapping names its file
 * by number and serial, so that one whose table was given up is noticed and asked for again.
 */
#include "bpf/open.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

#define RULE_WORDS  4u
#define DIR_WORDS   2u
#define MAP_WORDS   8u
#define BUCKET_ROWS (1u << WALKER_BUCKET_BITS)

_Static_assert(sizeof(struct walker_map) == MAP_WORDS * 4, "a mapping is read as words");
_Static_assert(TABLE_BUCKET_BITS == WALKER_BUCKET_BITS && TABLE_RULE_BITS == WALKER_RULE_BITS &&
		       TABLE_RULES_MAX <= 65536,
	       "rows are those of the table");

void coati_walker_publish_init(struct walker *w)
{
	w->tables.max = WALKER_FILES_MAX;
	w->spaces.max = WALKER_SPACES_MAX;
	coati_map_init(&w->space_index, WALKER_SPACES_MAX);
}

void coati_walker_publish_fini(struct walker *w)
{
	ARRAY_FINI(&w->tables);
	ARRAY_FINI(&w->spaces);
	coati_map_fini(&w->space_index);
}

/* ---- tables ---- */

static void evict(struct walker *w, uint32_t file)
{
	struct published_table *t = &w->tables.v[file];

	/* pairs with the load in take_file() of the walker */
	__atomic_store_n(&w->files[file].serial, 0, __ATOMIC_RELEASE);
	coati_walker_arena_put(&w->arena, t->word, t->words);
	w->table_bytes -= t->words * UINT64_C(4);
	w->nr_tables--;
	w->evicted++;
	*t = (struct published_table){ 0, 0 };
}

/* Give up a table that the walker has not used since the last time round; false: there is none. */
static bool evict_one(struct walker *w)
{
	uint32_t nr = (uint32_t)w->tables.len;

	for (uint32_t i = 0; i < 2 * nr; i++) {
		uint32_t at = w->hand++ % nr;

		if (!w->tables.v[at].words)
			continue;
		if (!__atomic_exchange_n(&w->files[at].used, 0, __ATOMIC_RELAXED)) {
			evict(w, at);
			return true;
		}
	}
	return false;
}

static int get_words(struct walker *w, uint32_t words, uint32_t *ret)
{
	int r;

	if (words > (uint64_t)w->arena.max_chunks * WALKER_CHUNK_WORDS)
		return -ENOSPC;
	while ((r = coati_walker_arena_get(&w->arena, words, ret)) == -ENOSPC)
		if (!evict_one(w))
			return r;
	return r;
}

static void put_u64(const struct walker *w, uint32_t word, uint64_t value)
{
	memcpy(walker_arena_at(&w->arena, word), &value, sizeof(value));
}

static void write_rules(const struct walker *w, const struct table *t, uint32_t word)
{
	for (uint32_t i = 0; i < t->nr_rules; i++, word += RULE_WORDS) {
		put_u64(w, word, t->rules[i]);
		put_u64(w, word + 2, (uint32_t)t->others[i]);
	}
}

/* Rows and the directory that leads to them. The rows of one bucket lie in one chunk. */
static void write_rows(const struct walker *w, const struct table *t, uint32_t dir, uint32_t rows)
{
	for (uint32_t b = 0; b < t->nr_buckets; b++, dir += DIR_WORDS) {
		uint32_t from = t->dir[b], nr = t->dir[b + 1] - from;
		uint64_t before = t->rows[from - 1] & 0xffff;

		if (nr && (rows & (WALKER_CHUNK_WORDS - 1)) + nr > WALKER_CHUNK_WORDS)
			rows = (rows | (WALKER_CHUNK_WORDS - 1)) + 1;
		if (nr)
			memcpy(walker_arena_at(&w->arena, rows), t->rows + from, nr * 4u);
		put_u64(w, dir, (uint64_t)rows | (uint64_t)nr << 32 | before << 48);
		rows += nr;
	}
}

static int64_t free_file(struct walker *w)
{
	struct published_table *t;

	for (size_t i = 0; i < w->tables.len; i++)
		if (!w->tables.v[i].words)
			return (int64_t)i;
	t = ARRAY_ADD(&w->tables);
	if (!t && w->tables.len >= WALKER_FILES_MAX && evict_one(w))
		return free_file(w);
	return t ? (int64_t)w->tables.len - 1 : -ENOMEM;
}

static bool rows_fit(const struct table *t)
{
	for (uint32_t b = 0; b < t->nr_buckets; b++)
		if (!t->dir[b] || t->dir[b + 1] - t->dir[b] > BUCKET_ROWS)
			return false;
	return true;
}

int coati_walker_add_table(struct walker *w, const struct table *t, struct walker_table *ret)
{
	uint64_t words = (uint64_t)t->nr_rules * RULE_WORDS + (uint64_t)t->nr_buckets * DIR_WORDS;
	uint32_t word, dir;
	int64_t file;
	int r;

	words += t->nr_rows + (t->nr_rows / WALKER_CHUNK_WORDS + UINT64_C(2)) * BUCKET_ROWS;
	if (words > UINT32_MAX)
		return -ENOSPC;
	if (!rows_fit(t))
		return -EBADMSG;
	r = get_words(w, (uint32_t)words, &word);
	if (r < 0)
		return r;
	file = free_file(w);
	if (file < 0) {
		coati_walker_arena_put(&w->arena, word, (uint32_t)words);
		return (int)file;
	}
	dir = word + t->nr_rules * RULE_WORDS;
	write_rules(w, t, word);
	write_rows(w, t, dir, dir + t->nr_buckets * DIR_WORDS);
	w->tables.v[file] = (struct published_table){ word, (uint32_t)words };
	w->nr_tables++;
	w->table_bytes += words * 4;
	w->files[file] = (struct walker_file){ .dir = dir,
					       .nr_buckets = t->nr_buckets,
					       .rules = word,
					       .nr_rules = t->nr_rules,
					       .used = 1 };
	*ret = (struct walker_table){ (uint32_t)file, ++w->serial };
	/* pairs with the load in take_file() of the walker */
	__atomic_store_n(&w->files[file].serial, ret->serial, __ATOMIC_RELEASE);
	return 0;
}

bool coati_walker_has_table(const struct walker *w, const struct walker_table *t)
{
	return t->serial && t->file < w->tables.len && w->files[t->file].serial == t->serial;
}

/* ---- address spaces ---- */

static void write_maps(const struct walker *w, uint32_t word, const struct walker_map *maps,
		       uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		memcpy(walker_arena_at(&w->arena, word + i * MAP_WORDS), &maps[i], sizeof(*maps));
}

/* Its entry, made when it is new. */
static struct published_space *space_entry(struct walker *w, uint64_t space)
{
	struct published_space *s;
	uint64_t index;

	if (coati_map_get(&w->space_index, space, &index))
		return &w->spaces.v[index - 1];
	s = ARRAY_ADD(&w->spaces);
	if (!s)
		return NULL;
	if (coati_map_put(&w->space_index, space, w->spaces.len) < 0) {
		w->spaces.len--;
		return NULL;
	}
	s->space = space;
	return s;
}

uint64_t coati_walker_changes(const struct walker *w, uint64_t space)
{
	/* pairs with the addition in on_mapping() of the walker */
	return __atomic_load_n(&w->changes[walker_change(space)], __ATOMIC_ACQUIRE);
}

int coati_walker_set_space(struct walker *w, uint64_t space, const struct walker_mappings *maps)
{
	struct walker_space value = { .nr_maps = maps->nr,
				      .exec_pages = maps->exec_pages,
				      .labels = maps->labels,
				      .changes = maps->changes };
	uint32_t words = (maps->nr ? maps->nr : 1) * MAP_WORDS;
	struct published_space *s;
	int r;

	if (maps->nr > WALKER_MAPS_MAX)
		return -E2BIG;
	s = space_entry(w, space);
	if (!s)
		return -E2BIG;
	r = get_words(w, words, &value.maps);
	if (r < 0)
		return r;
	write_maps(w, value.maps, maps->v, maps->nr);
	value.generation = value.generation_again = ++w->generation;
	r = w->lib.map_update(w->spaces_fd, &space, &value, BPF_ANY);
	if (r < 0) {
		coati_walker_arena_put(&w->arena, value.maps, words);
		return -ENOSPC;
	}
	if (s->words)
		coati_walker_arena_put(&w->arena, s->word, s->words);
	s->word = value.maps;
	s->words = words;
	return 0;
}

void coati_walker_forget_space(struct walker *w, uint64_t space)
{
	struct published_space *last;
	uint64_t index;

	if (!coati_map_get(&w->space_index, space, &index))
		return;
	(void)w->lib.map_delete(w->spaces_fd, &space);
	if (w->spaces.v[index - 1].words)
		coati_walker_arena_put(&w->arena, w->spaces.v[index - 1].word,
				       w->spaces.v[index - 1].words);
	coati_map_del(&w->space_index, space);
	last = &w->spaces.v[w->spaces.len - 1];
	if (index < w->spaces.len) {
		w->spaces.v[index - 1] = *last;
		(void)coati_map_put(&w->space_index, last->space, index);
	}
	w->spaces.len--;
}

void coati_walker_get_memory(const struct walker *w, struct walker_memory *ret)
{
	*ret = (struct walker_memory){ .tables = w->nr_tables,
				       .table_bytes = w->table_bytes,
				       .evicted = w->evicted,
				       .spaces = w->spaces.len,
				       .reclaims = w->control->reclaims };
}
