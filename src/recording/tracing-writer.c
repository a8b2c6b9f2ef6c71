/* SPDX-License-Identifier: MIT */
/*
 * Formats are found by the event's name, checked by its id; an event that was given another name is
 * looked for in all of tracefs.
 */
#include "recording/tracing-writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "recording/sections.h"

#define PART_MAX   128
#define FORMAT_MAX (256u << 10)

struct found {
	char system[PART_MAX], name[PART_MAX];
};

/* Is the tracepoint @f the one with @id? */
static bool has_id(const char *tracefs, const struct found *f, uint64_t id)
{
	char path[4096];
	uint64_t got;

	snprintf(path, sizeof(path), "%s/events/%s/%s/id", tracefs, f->system, f->name);
	return coati_file_read_u64(AT_FDCWD, path, &got) == 0 && got == id;
}

static bool by_name(const char *tracefs, const struct tracing_event *e, struct found *ret)
{
	const char *colon = e->name ? strchr(e->name, ':') : NULL;
	size_t len;

	if (!colon || (size_t)(colon - e->name) >= PART_MAX ||
	    memchr(e->name, '/', (size_t)(colon - e->name)))
		return false;
	len = strcspn(colon + 1, ":/ ,");
	if (!len || len >= PART_MAX)
		return false;
	*ret = (struct found){ 0 };
	memcpy(ret->system, e->name, (size_t)(colon - e->name));
	memcpy(ret->name, colon + 1, len);
	return has_id(tracefs, ret, e->id);
}

static bool search_system(const char *tracefs, const char *system, uint64_t id, struct found *ret)
{
	CLEANUP(dir_closep) DIR *dir = NULL;
	char path[4096];
	struct dirent *e;

	snprintf(path, sizeof(path), "%s/events/%s", tracefs, system);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) >= PART_MAX)
			continue;
		*ret = (struct found){ 0 };
		memcpy(ret->system, system, strlen(system));
		memcpy(ret->name, e->d_name, strlen(e->d_name));
		if (has_id(tracefs, ret, id))
			return true;
	}
	return false;
}

static bool by_search(const char *tracefs, uint64_t id, struct found *ret)
{
	CLEANUP(dir_closep) DIR *dir = NULL;
	char path[4096];
	struct dirent *e;

	snprintf(path, sizeof(path), "%s/events", tracefs);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < PART_MAX &&
		    search_system(tracefs, e->d_name, id, ret))
			return true;
	return false;
}

/* "name", then u64 length and content of the file; an unreadable file has length 0. */
static void add_named_file(const char *tracefs, const char *name, struct strbuf *blob)
{
	struct strbuf text = STRBUF_INIT(FORMAT_MAX);
	char path[4096];

	snprintf(path, sizeof(path), "%s/events/%s", tracefs, name);
	if (coati_file_read(AT_FDCWD, path, &text) < 0)
		coati_strbuf_clear(&text);
	coati_strbuf_add(blob, name, strlen(name) + 1);
	coati_section_u64(blob, text.len);
	coati_strbuf_add(blob, text.text, text.len);
	coati_strbuf_fini(&text);
}

/* Where formats come from, of which events, and where they go. */
struct formats {
	const char *tracefs;
	const struct found *v;
	uint32_t nr;
	struct strbuf *blob;
};

static int add_format(const char *tracefs, const struct found *f, struct strbuf *blob,
		      struct coati_error *err)
{
	struct strbuf text = STRBUF_INIT(FORMAT_MAX);
	char path[4096];
	int r;

	snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, f->system, f->name);
	r = coati_file_read(AT_FDCWD, path, &text);
	if (r < 0)
		coati_fail(err, r, "%s: %m", path);
	coati_section_u64(blob, text.len);
	coati_strbuf_add(blob, text.text, text.len);
	coati_strbuf_fini(&text);
	return r;
}

/* All formats of the system of found[@first], once. */
static int add_system(const struct formats *f, uint32_t first, struct coati_error *err)
{
	const char *system = f->v[first].system;
	uint32_t count = 0;
	int r = 0;

	for (uint32_t i = first; i < f->nr; i++)
		count += !strcmp(f->v[i].system, system);
	coati_strbuf_add(f->blob, system, strlen(system) + 1);
	coati_section_u32(f->blob, count);
	for (uint32_t i = first; r == 0 && i < f->nr; i++)
		if (!strcmp(f->v[i].system, system))
			r = add_format(f->tracefs, &f->v[i], f->blob, err);
	return r;
}

static bool seen_before(const struct found *v, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (!strcmp(v[k].system, v[i].system))
			return true;
	return false;
}

static int add_systems(const struct formats *f, struct coati_error *err)
{
	uint32_t systems = 0;
	int r = 0;

	for (uint32_t i = 0; i < f->nr; i++)
		systems += !seen_before(f->v, i);
	coati_section_u32(f->blob, systems);
	for (uint32_t i = 0; r == 0 && i < f->nr; i++)
		if (!seen_before(f->v, i))
			r = add_system(f, i, err);
	return r;
}

int coati_tracing_data(const char *tracefs, const struct tracing_event *events, uint32_t nr,
		       struct strbuf *blob, struct coati_error *err)
{
	static const uint8_t magic[10] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	CLEANUP(freep) struct found *v = coati_alloc_array(nr, sizeof(*v));
	const uint16_t one = 1;
	int r;

	if (!v)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < nr; i++)
		if (!by_name(tracefs, &events[i], &v[i]) &&
		    !by_search(tracefs, events[i].id, &v[i]))
			return coati_fail(err, -ENOENT, "no tracepoint with id %llu (%s) below %s",
					  (unsigned long long)events[i].id, events[i].name,
					  tracefs);
	coati_strbuf_add(blob, magic, sizeof(magic));
	coati_strbuf_add(blob, "0.6", 4);
	coati_strbuf_addc(blob, *(const char *)&one ? 0 : 1); /* byte order */
	coati_strbuf_addc(blob, (char)sizeof(long));
	coati_section_u32(blob, (uint32_t)sysconf(_SC_PAGESIZE));
	add_named_file(tracefs, "header_page", blob);
	add_named_file(tracefs, "header_event", blob);
	coati_section_u32(blob, 0); /* formats of ftrace itself */
	r = add_systems(&(struct formats){ tracefs, v, nr, blob }, err);
	coati_section_u32(blob, 0); /* kernel symbols */
	coati_section_u32(blob, 0); /* printk formats */
	coati_section_u64(blob, 0); /* saved command lines */
	return r < 0 ? r : blob->failed ? coati_fail(err, blob->failed, "tracing data: %m") : 0;
}
