/* SPDX-License-Identifier: MIT */
/* /proc/self/maps comes in, or what the loader has; what of it can be run goes out, with build ids
 * at once and names on demand. */
#include "live/pprof/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/search.h"
#include "live/sampler/objects.h"

#define MAPS_BYTES_MAX ((size_t)64 << 20)
#define NAME_BYTES     1024u

void coati_build_id_text(const uint8_t *id, size_t size, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*ret++ = digits[id[i] >> 4];
		*ret++ = digits[id[i] & 15];
	}
	*ret = '\0';
}

static void read_build_id(const char *path, char *text)
{
	uint8_t id[20];
	struct elf elf;

	if (path[0] != '/' || coati_elf_open(path, &elf, NULL) < 0)
		return;
	coati_build_id_text(id, coati_elf_build_id(&elf, id), text);
	coati_elf_close(&elf);
}

/* The next word of a line, terminated; *@at behind it. */
static char *next_word(char **at)
{
	char *word;

	while (**at == ' ')
		(*at)++;
	word = *at;
	while (**at && **at != ' ')
		(*at)++;
	if (**at)
		*(*at)++ = '\0';
	return word;
}

/* start-end perms offset dev inode path */
static int add_mapping(struct live_maps *m, const struct live_maps *loaded, char *line)
{
	struct live_mapping one = { 0 }, *known;
	char *range = next_word(&line), *dash = strchr(range, '-'), *perms = next_word(&line);
	char *offset = next_word(&line);

	next_word(&line);
	next_word(&line);
	while (*line == ' ')
		line++;
	if (!dash || !strchr(perms, 'x'))
		return 0;
	*dash = '\0';
	if (coati_parse_hex(range, &one.start) < 0 || coati_parse_hex(dash + 1, &one.end) < 0 ||
	    coati_parse_hex(offset, &one.offset) < 0)
		return 0;
	if (m->len == m->cap) {
		uint32_t cap = m->cap ? 2 * m->cap : 32;
		void *grown = coati_realloc_array(m->list, cap, sizeof(*m->list));

		if (!grown)
			return -ENOMEM;
		m->list = grown;
		m->cap = cap;
	}
	one.path = coati_arena_strdup(&m->texts, line);
	if (!one.path)
		return -ENOMEM;
	/* in memory it is that of what runs; the file may be another one by now */
	known = coati_maps_find(loaded, one.start);
	if (known)
		memcpy(one.build_id, known->build_id, sizeof(one.build_id));
	else
		read_build_id(line, one.build_id);
	m->list[m->len++] = one;
	return 0;
}

static int read_maps(struct live_maps *m, const struct live_maps *loaded)
{
	struct strbuf maps = STRBUF_INIT(MAPS_BYTES_MAX);
	int r = coati_file_read(AT_FDCWD, "/proc/self/maps", &maps);
	char *line, *rest;

	for (rest = maps.text; r >= 0 && *rest;) {
		line = rest;
		rest += strcspn(rest, "\n");
		if (*rest)
			*rest++ = '\0';
		r = add_mapping(m, loaded, line);
	}
	coati_strbuf_fini(&maps);
	return r < 0 ? r : 0;
}

int coati_maps_open(struct live_maps *m)
{
	struct live_maps loaded = { 0 };
	int r;

	*m = (struct live_maps){ 0 };
	/* without: build ids of files */
	if (!coati_sampler_objects_shut())
		coati_maps_loaded(&loaded);
	coati_arena_init(&m->texts, MAPS_BYTES_MAX);
	r = read_maps(m, &loaded);
	if (r < 0)
		coati_maps_close(m);
	if (r < 0 && r != -ENOMEM && loaded.len) {
		*m = loaded;
		return 0;
	}
	coati_maps_close(&loaded);
	return r;
}

void coati_maps_close(struct live_maps *m)
{
	for (uint32_t i = 0; i < m->len; i++)
		coati_sampler_names_close(&m->list[i].names);
	coati_free(m->list);
	coati_arena_fini(&m->texts);
	*m = (struct live_maps){ 0 };
}

struct live_mapping *coati_maps_find(const struct live_maps *m, uint64_t addr)
{
	uint32_t low = SEARCH(mid, 0, m->len, addr >= m->list[mid].end);

	return low < m->len && addr >= m->list[low].start ? &m->list[low] : NULL;
}

/* Names of a file that is not the one that is loaded would be wrong. */
static bool open_names(struct live_mapping *m, const char *path)
{
	char text[sizeof(m->build_id)] = "";
	uint8_t id[20];

	if (coati_sampler_names_open(&m->names, path) < 0)
		return false;
	coati_build_id_text(id, coati_elf_build_id(&m->names.elf, id), text);
	if (m->build_id[0] && strcmp(m->build_id, text)) {
		coati_sampler_names_close(&m->names);
		return false;
	}
	return true;
}

/* The program itself is there when its file has been deleted, too. */
static void find_names(struct live_mapping *m)
{
	uint64_t entry = getauxval(AT_ENTRY);

	if (!open_names(m, m->path) && entry >= m->start && entry < m->end)
		open_names(m, "/proc/self/exe");
}

const char *coati_maps_name(struct live_maps *m, struct live_mapping *mapping, uint64_t addr,
			    uint64_t *ret_into)
{
	const struct sampler_name *n;
	char name[NAME_BYTES];

	if (!mapping->names_tried)
		find_names(mapping);
	mapping->names_tried = true;
	n = coati_sampler_names_find(&mapping->names, addr - mapping->start + mapping->offset,
				     ret_into);
	if (n)
		return n->name;
	if (mapping->names.len || coati_sampler_objects_shut() ||
	    !coati_loaded_name(addr, name, sizeof(name), ret_into))
		return NULL;
	return coati_arena_strdup(&m->texts, name);
}
