/* SPDX-License-Identifier: MIT */
/*
 * A file and the name of a function come in, its address and size go out. Every table is walked
 * once; of the symbols that match, the one of the highest rank wins. Names out of the file are
 * shown only when they are fit to be printed.
 */
#include "event/probe-symbol.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/match.h"

#define SHOWN_MAX      3		/* offsets of functions that share a name, in an error */
#define NAME_BYTES_MAX 128		/* longer names are not offered */
#define VERSION_INDEX  UINT16_C(0x7fff) /* of an entry of .gnu.version */
#define VERSION_HIDDEN UINT16_C(0x8000) /* not the default version */

/* How well a symbol fits; 0: not at all. */
enum rank {
	RANK_NONE = 0,
	RANK_LOCAL_LABEL, /* without type: hand-written assembly */
	RANK_GLOBAL_LABEL,
	RANK_LOCAL,
	RANK_OLD, /* global, but not the default version */
	RANK_GLOBAL,
};

struct search {
	const char *name;    /* as typed */
	size_t base_len;     /* of the name in front of the @ */
	const char *version; /* behind the @, or NULL */
	enum rank rank;
	struct elf_symbol best;
	uint32_t nr_places; /* of that rank at different addresses */
	uint64_t places[SHOWN_MAX];
	bool data, imported; /* seen, but no function of this file */
};

/* Where the versions of the symbols of a .dynsym are. */
struct versions {
	const uint8_t *of_symbol; /* .gnu.version: a u16 for each */
	size_t size;
	/* index of the version that is searched for, -1 when the file has none such */
	int32_t wanted;
	bool swap;
};

bool coati_probe_name_ok(const char *name)
{
	size_t len = strnlen(name, NAME_BYTES_MAX + 1);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	return len > 0 && len <= NAME_BYTES_MAX;
}

static int find_section_type(const struct elf *e, uint32_t type, struct elf_section *ret)
{
	for (uint32_t i = 0; i < e->shnum; i++) {
		int r = coati_elf_section(e, i, ret);

		if (r < 0)
			return r;
		if (ret->type == type)
			return 1;
	}
	return 0;
}

/* Index of the version named @name among those that the file defines, or -1. */
static int32_t find_version(const struct elf *e, const char *name)
{
	struct elf_section s;
	const uint8_t *bytes;
	size_t size = 0, at = 0;

	if (!name || find_section_type(e, SHT_GNU_verdef, &s) != 1)
		return -1;
	bytes = coati_elf_section_bytes(e, &s, &size);
	while (bytes && at < size) {
		struct cursor c = cursor_over(bytes + at, size - at), aux = c;
		uint32_t aux_at, next;
		uint16_t index;
		const char *text;

		c.swap = aux.swap = e->swap;
		cursor_skip(&c, 4); /* version of this struct, flags */
		index = cursor_u16(&c);
		cursor_skip(&c, 2 + 4); /* count of names, hash */
		aux_at = cursor_u32(&c);
		next = cursor_u32(&c);
		cursor_skip(&aux, aux_at);
		text = coati_elf_string(e, s.link, cursor_u32(&aux));
		if (c.bad || aux.bad || !text)
			return -1;
		if (!strcmp(text, name))
			return index;
		if (next < sizeof(Elf64_Verdef))
			return -1;
		at += next;
	}
	return -1;
}

static struct versions read_versions(const struct elf *e, const char *wanted)
{
	struct versions v = { .wanted = find_version(e, wanted), .swap = e->swap };
	struct elf_section s;

	if (find_section_type(e, SHT_GNU_versym, &s) == 1)
		v.of_symbol = coati_elf_section_bytes(e, &s, &v.size);
	return v;
}

/* The entry of .gnu.version; symbols of files without versions have the default one. */
static uint16_t version_of(const struct versions *v, uint32_t symbol)
{
	struct cursor c = cursor_over(v->of_symbol, v->size);

	c.swap = v->swap;
	cursor_skip(&c, (size_t)symbol * 2);
	return cursor_u16(&c);
}

/* Does the name match, and is it an old version of it? @v is NULL for a .symtab, whose names may
 * carry their version: "name@OLD", "name@@DEFAULT". */
static bool name_matches(const struct search *f, const struct elf_symbol *s,
			 const struct versions *v, bool *ret_old)
{
	const char *rest;
	uint16_t version;

	*ret_old = false;
	if (strncmp(s->name, f->name, f->base_len) != 0)
		return false;
	rest = s->name + f->base_len;
	if (*rest == '@') {
		*ret_old = rest[1] != '@';
		return !f->version || !strcmp(rest + 1 + !*ret_old, f->version);
	}
	if (*rest)
		return false;
	if (!v)
		return !f->version;
	version = version_of(v, s->index);
	*ret_old = version & VERSION_HIDDEN;
	return !f->version || (version & VERSION_INDEX) == v->wanted;
}

static enum rank rank_of(struct search *f, const struct elf_symbol *s, bool old)
{
	bool local = s->bind == STB_LOCAL;

	if (s->shndx == SHN_UNDEF) {
		f->imported = true;
		return RANK_NONE;
	}
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return local ? RANK_LOCAL : old && !f->version ? RANK_OLD : RANK_GLOBAL;
	if (s->type == STT_NOTYPE && s->shndx < SHN_LORESERVE)
		return local ? RANK_LOCAL_LABEL : RANK_GLOBAL_LABEL;
	f->data = true;
	return RANK_NONE;
}

static void consider(struct search *f, const struct elf_symbol *s, enum rank rank)
{
	if (rank < f->rank || rank == RANK_NONE)
		return;
	if (rank > f->rank) {
		f->rank = rank;
		f->best = *s;
		f->nr_places = 0;
	}
	for (uint32_t i = 0; i < f->nr_places && i < SHOWN_MAX; i++)
		if (f->places[i] == s->value)
			return;
	if (f->nr_places < SHOWN_MAX)
		f->places[f->nr_places] = s->value;
	if (f->nr_places < UINT32_MAX)
		f->nr_places++;
}

/* One table of the file, when it has it. */
static int search_table(const struct elf *e, uint32_t type, struct search *f)
{
	struct versions v = { .wanted = -1 };
	struct elf_section table;
	struct elf_symbols symbols;
	struct elf_symbol s;
	bool old;
	int r = find_section_type(e, type, &table);

	if (r <= 0)
		return r;
	r = coati_elf_symbols(e, &table, &symbols);
	if (r < 0)
		return r;
	if (type == SHT_DYNSYM)
		v = read_versions(e, f->version);
	while ((r = coati_elf_symbol_next(&symbols, &s)) > 0)
		if (name_matches(f, &s, type == SHT_DYNSYM ? &v : NULL, &old))
			consider(f, &s, rank_of(f, &s, old));
	return r;
}

static int search_file(const struct elf *e, struct search *f)
{
	int r = search_table(e, SHT_SYMTAB, f);

	return r < 0 ? r : search_table(e, SHT_DYNSYM, f);
}

/* The separate debug file, when there is one that belongs to @e. */
static void open_debug(const struct elf *e, const char *debug_dir, struct elf *ret)
{
	uint8_t id[20], its_id[20];
	size_t len = coati_elf_build_id(e, id);
	char path[512];
	int used;

	*ret = (struct elf){ 0 };
	if (len < 2)
		return;
	used = snprintf(path, sizeof(path), "%s/.build-id/%02x/", debug_dir, id[0]);
	for (size_t i = 1; i < len && (size_t)used < sizeof(path); i++)
		used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", id[i]);
	if ((size_t)used < sizeof(path))
		used += snprintf(path + used, sizeof(path) - (size_t)used, ".debug");
	if ((size_t)used >= sizeof(path) || coati_elf_open(path, ret, NULL) < 0)
		return;
	if (coati_elf_build_id(ret, its_id) != len || memcmp(id, its_id, len) != 0)
		coati_elf_close(ret);
}

static void offer_table(const struct elf *e, uint32_t type, struct nearest *n)
{
	struct elf_section table;
	struct elf_symbols symbols;
	struct elf_symbol s;

	if (find_section_type(e, type, &table) != 1 || coati_elf_symbols(e, &table, &symbols) < 0)
		return;
	while (coati_elf_symbol_next(&symbols, &s) > 0)
		if (s.shndx != SHN_UNDEF && s.type == STT_FUNC && coati_probe_name_ok(s.name))
			coati_nearest_offer(n, s.name);
}

static int fail_not_found(const struct elf *e, const struct elf *debug, const char *path,
			  const struct search *f, struct coati_error *err)
{
	struct nearest n = coati_nearest_to(f->name);

	if (f->data)
		return coati_fail(err, -ENOENT, "%s is data in %s, not a function", f->name, path);
	if (f->imported)
		return coati_fail(
			err, -ENOENT,
			"%s only uses %s: probe the library that has it (ldd %s lists them)", path,
			f->name, path);
	offer_table(e, SHT_SYMTAB, &n);
	offer_table(e, SHT_DYNSYM, &n);
	offer_table(debug, SHT_SYMTAB, &n);
	if (n.best)
		return coati_fail(err, -ENOENT, "no function %s in %s; did you mean %s?", f->name,
				  path, n.best);
	return coati_fail(
		err, -ENOENT,
		"no function %s in %s (a stripped file needs its debug symbols, or give 0xOFFSET)",
		f->name, path);
}

static int fail_many(const struct elf *e, const char *path, const struct search *f,
		     struct coati_error *err)
{
	char list[128] = "";
	size_t len = 0;

	for (uint32_t i = 0; i < f->nr_places && i < SHOWN_MAX; i++) {
		uint64_t offset;

		if (coati_elf_vaddr_to_offset(e, f->places[i], &offset) == 0)
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s0x%llx",
						len ? ", " : "", (unsigned long long)offset);
	}
	return coati_fail(
		err, -EINVAL,
		"%u functions are named %s in %s: give the offset in the file, such as %s",
		f->nr_places, f->name, path, list);
}

static int judge(const struct elf *e, const struct elf *debug, const char *path,
		 const struct search *f, struct coati_error *err)
{
	if (f->rank == RANK_NONE)
		return fail_not_found(e, debug, path, f, err);
	if (f->nr_places > 1)
		return fail_many(e, path, f, err);
	if (f->best.type == STT_GNU_IFUNC)
		return coati_fail(
			err, -EOPNOTSUPP,
			"%s in %s is an indirect function, whose variant is picked at program "
			"start: probe the variant by its own name or offset",
			f->name, path);
	return 0;
}

int coati_probe_symbol_find(const struct probe_file *file, const char *name,
			    struct probe_symbol *ret, struct coati_error *err)
{
	CLEANUP(coati_elf_close) struct elf debug = { 0 };
	struct search f = { .name = name, .base_len = strcspn(name, "@") };
	int r;

	if (name[f.base_len])
		f.version = name + f.base_len + strspn(name + f.base_len, "@");
	r = search_file(file->elf, &f);
	if (r == 0 && f.rank == RANK_NONE) {
		open_debug(file->elf, file->debug_dir, &debug);
		r = search_file(&debug, &f);
	}
	if (r < 0)
		return coati_fail(err, r,
				  r == -E2BIG ? "%s has too many symbols"
					      : "the symbol table of %s is damaged",
				  file->path);
	r = judge(file->elf, &debug, file->path, &f, err);
	if (r < 0)
		return r;
	*ret = (struct probe_symbol){ .vaddr = f.best.value, .size = f.best.size };
	return 0;
}
