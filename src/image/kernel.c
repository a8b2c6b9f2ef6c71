/* SPDX-License-Identifier: MIT */
/*
 * Lines "ffffffff81000000 T name [module]" are cut in place; the names of the index point into the
 * text. A function ends where the next symbol of any kind begins; the last one of a module ends
 * with its page at the latest.
 */
#include "image/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/elf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/opening.h"
#include "base/search.h"

#define READ_FIRST  ((size_t)4 << 20)
#define NOTES_MAX   ((size_t)1 << 20)
#define PIECE_BYTES ((size_t)64 << 10)
#define PAGE	    UINT64_C(4096)

enum rank {
	RANK_DATA = 0,
	RANK_LOCAL,
	RANK_WEAK,
	RANK_GLOBAL,
};

/* Where the linker put the ends of the text: places, not functions. */
static bool is_bound(const char *name)
{
	static const char *const bounds[] = { "_text", "_stext", "_etext", "_sinittext",
					      "_einittext" };

	for (size_t i = 0; *name == '_' && i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (!strcmp(name, bounds[i]))
			return true;
	return false;
}

static uint8_t rank_of(char type, const char *name)
{
	if (is_bound(name))
		return RANK_DATA;
	switch (type) {
	case 'T':
		return RANK_GLOBAL;
	case 'W':
	case 'w':
		return RANK_WEAK;
	case 't':
		return RANK_LOCAL;
	default:
		return RANK_DATA;
	}
}

char *coati_kernel_address(char *p, uint64_t *ret)
{
	uint64_t v = 0;
	int digits = 0;

	for (; *p && *p != ' '; p++, digits++) {
		if (*p >= '0' && *p <= '9')
			v = v << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			v = v << 4 | ((uint64_t)(*p - 'a') + 10);
		else
			return NULL;
	}
	*ret = v;
	return *p && digits && digits <= 16 ? p + 1 : NULL;
}

/* One line, already terminated. 0 taken or passed over; -ENOMEM, -E2BIG. */
static int add_line(struct kernel *k, char *line)
{
	struct symbol_found f = { 0 };
	char *p = coati_kernel_address(line, &f.start), *name, *blank;
	char type = p ? *p : '\0';

	if (!type || p[1] != ' ' || !p[2] || type == 'U' || type == 'a' || type == 'A')
		return 0;
	name = p + 2;
	blank = name + strcspn(name, " \t");
	if (blank == name)
		return 0;
	if (*blank)
		*blank = '\0'; /* the module follows */
	f.name = (uint32_t)(name - k->text);
	f.rank = rank_of(type, name);
	if (!k->text_start && !strcmp(name, "_text"))
		k->text_start = f.start;
	else if (!k->stext_start && !strcmp(name, "_stext"))
		k->stext_start = f.start;
	/* the per-CPU offsets of x86-64 are no addresses */
	if (f.start < PAGE && f.start)
		return 0;
	return coati_symbols_add(&k->symbols, &f, 0);
}

static const char *module_of(const struct kernel *k, const struct symbol *s)
{
	const char *after = coati_symbols_name(&k->symbols, s);

	after += strlen(after) + 1;
	return after < k->text + k->size && *after == '[' ? after : "";
}

static bool is_code(const struct kernel *k, const struct symbol *s)
{
	return s->name >= 2 && rank_of(k->text[s->name - 2], k->text + s->name) != RANK_DATA;
}

/* Until the next one of the same module. */
static void set_sizes(struct kernel *k)
{
	struct symbol *v = k->symbols.v;

	for (size_t i = 0; i < k->symbols.nr; i++) {
		uint64_t size = PAGE - (v[i].start & (PAGE - 1));

		if (i + 1 < k->symbols.nr && !strcmp(module_of(k, &v[i]), module_of(k, &v[i + 1])))
			size = v[i + 1].start - v[i].start;
		if (!is_code(k, &v[i]))
			size = 0;
		v[i].size |= size < SYMBOL_SIZE_MASK ? (uint32_t)size : SYMBOL_SIZE_MASK;
	}
}

static int fail_hidden(struct kernel *k)
{
	coati_symbols_fini(&k->symbols);
	coati_fail(&k->err, -EACCES,
		   "the kernel hides its addresses from you: run as root, or sysctl "
		   "kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	return 0;
}

int coati_kernel_take(struct kernel *k, char *text, size_t size)
{
	uint64_t seen = 0;
	char *line, *rest = text;
	int r;

	k->tried = true;
	k->text = text;
	k->size = size;
	coati_symbols_init(&k->symbols);
	r = coati_symbols_strings(&k->symbols, text, size + 1);
	while (r >= 0 && (line = strsep(&rest, "\n")))
		r = add_line(k, line);
	for (size_t i = 0; i < k->symbols.found.len; i++)
		seen |= k->symbols.found.v[i].start;
	if (r >= 0 && k->symbols.found.len && !seen)
		return fail_hidden(k);
	if (r >= 0)
		r = coati_symbols_finish(&k->symbols);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !k->symbols.nr)
		coati_fail(&k->err, -EBADMSG,
			   "the list of the kernel's symbols has none, or too many");
	else
		set_sizes(k);
	return 0;
}

/* procfs files have no size: read until the end. */
static int read_all(int fd, char **ret, size_t *ret_size)
{
	size_t cap = READ_FIRST, len = 0;
	CLEANUP(freep) char *text = coati_alloc(cap + 1);

	while (text) {
		ssize_t n = read(fd, text + len, cap - len);
		char *bigger;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		len += (size_t)n;
		if (n == 0) {
			text[len] = '\0';
			*ret = TAKE_PTR(text);
			*ret_size = len;
			return 0;
		}
		if (len < cap)
			continue;
		if (cap >= KALLSYMS_BYTES_MAX)
			return -E2BIG;
		bigger = coati_realloc_array(text, cap * 2 + 1, 1);
		if (!bigger)
			return -ENOMEM;
		text = bigger;
		cap *= 2;
	}
	return -ENOMEM;
}

/* Of procfs, in pieces. */
static int read_lines(int fd, const struct symbols_near *near, char **ret, size_t *ret_size)
{
	CLEANUP(coati_kernel_lines_free) struct kernel_lines *l = coati_kernel_lines_new(near);
	CLEANUP(freep) char *piece = coati_alloc(PIECE_BYTES);
	int r = l && piece ? 0 : -ENOMEM;

	while (r == 0) {
		ssize_t n = read(fd, piece, PIECE_BYTES);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : 1;
			break;
		}
		r = coati_kernel_lines_add(l, piece, (size_t)n);
	}
	return r < 0 ? r : coati_kernel_lines_take(l, ret, ret_size);
}

bool coati_kernel_has(const struct kernel *k, uint64_t addr)
{
	size_t i = SEARCH(mid, (size_t)0, k->near.nr, k->near.v[mid] < addr);

	return !k->near.nr || (i < k->near.nr && k->near.v[i] == addr);
}

int coati_kernel_read(struct kernel *k, const char *path)
{
	CLEANUP(fd_closep) int fd = -1;
	char *text = NULL;
	size_t size = 0;
	int r;

	k->tried = true;
	k->build_id_size = coati_kernel_build_id(k->build_id);
	fd = coati_open_file(&(struct opening){ .kind = OPEN_SYSTEM, .path = path }, NULL);
	r = fd < 0	 ? fd
	    : k->near.nr ? read_lines(fd, &k->near, &text, &size)
			 : read_all(fd, &text, &size);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		coati_fail(&k->err, r, "read %s: %m", path);
		return 0;
	}
	return coati_kernel_take(k, text, size);
}

void coati_kernel_fini(struct kernel *k)
{
	coati_symbols_fini(&k->symbols);
	coati_free(k->text);
	coati_free(k->near.v);
	*k = (struct kernel){ 0 };
}

const struct symbol *coati_kernel_find(const struct kernel *k, uint64_t addr,
				       const char **ret_module)
{
	const struct symbol *s = coati_symbols_before(&k->symbols, addr);

	if (!s || addr - s->start >= symbol_size(s))
		return NULL;
	*ret_module = module_of(k, s);
	return s;
}

uint32_t coati_kernel_build_id(uint8_t ret[20])
{
	struct strbuf bytes = STRBUF_INIT(NOTES_MAX);
	struct elf e = { 0 };
	struct elf_notes notes;
	struct elf_note n;
	uint32_t size = 0;

	if (coati_file_read(AT_FDCWD, "/sys/kernel/notes", &bytes) == 0) {
		notes = coati_elf_notes(&e, (const uint8_t *)bytes.text, bytes.len, 4);
		while (!size && coati_elf_note_next(&notes, &n) > 0) {
			if (n.type != 3 || n.name_size != 4 || memcmp(n.name, "GNU", 4) != 0 ||
			    n.desc_size > 20)
				continue;
			size = n.desc_size;
			memcpy(ret, n.desc, size);
		}
	}
	coati_strbuf_fini(&bytes);
	return size;
}
