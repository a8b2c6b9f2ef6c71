/* SPDX-License-Identifier: MIT */
/* /proc/self/maps comes in, what of it can be run goes out, with build ids at once and names on demand. */
#include "live/pprof/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "base/file.h"
#include "base/parse.h"

#define MAPS_BYTES_MAX ((size_t)64 << 20)

static void read_build_id(const char *path, char *text)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t id[20];
	struct elf elf;
	size_t size;

	if (path[0] != '/' || coati_elf_open(path, &elf, NULL) < 0)
		return;
	size = coati_elf_build_id(&elf, id);
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[id[i] >> 4];
		text[2 * i + 1] = digits[id[i] & 15];
	}
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
static int add_mapping(struct live_maps *m, char *line)
{
	struct live_mapping one = { 0 };
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
	read_build_id(line, one.build_id);
	m->list[m->len++] = one;
	return 0;
}

int coati_maps_open(struct live_maps *m)
{
	struct strbuf maps = STRBUF_INIT(MAPS_BYTES_MAX);
	char *line, *rest;
	int r;

	*m = (struct live_maps){ 0 };
	coati_arena_init(&m->texts, MAPS_BYTES_MAX);
	r = coati_file_read(AT_FDCWD, "/proc/self/maps", &maps);
	for (rest = maps.text; r >= 0 && *rest;) {
		line = rest;
		rest += strcspn(rest, "\n");
		if (*rest)
			*rest++ = '\0';
		r = add_mapping(m, line);
	}
	coati_strbuf_fini(&maps);
	if (r < 0)
		coati_maps_close(m);
	return r < 0 ? r : 0;
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
	uint32_t low = 0, high = m->len;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (addr >= m->list[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->len && addr >= m->list[low].start ? &m->list[low] : NULL;
}

const char *coati_mapping_name(struct live_mapping *mapping, uint64_t addr, uint64_t *ret_into)
{
	const struct sampler_name *n;

	if (!mapping->names_tried)
		coati_sampler_names_open(&mapping->names, mapping->path); /* without: addresses */
	mapping->names_tried = true;
	n = coati_sampler_names_find(&mapping->names, addr - mapping->start + mapping->offset,
				     ret_into);
	return n ? n->name : NULL;
}
