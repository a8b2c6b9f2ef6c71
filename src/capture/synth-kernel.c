/* SPDX-License-Identifier: MIT */
/*
 * The kernel as a mapping, its modules, and their build ids. Where the kernel begins is in the
 * first lines of kallsyms, how long it is in iomem: reading all of kallsyms for that would cost
 * more than the rest of a short recording. Addresses that the kernel hides (kptr_restrict) leave
 * the mapping out.
 */
#include "capture/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/elf.h"
#include "base/file.h"
#include "base/parse.h"
#include "recording/writer.h"

#define KERNEL_NAME   "[kernel.kallsyms]"
#define SYMBOL_BYTES  (64 * 1024) /* before these are over, the start of the text has come */
#define NOTES_BYTES   (1u << 20)
#define MODULES_BYTES (8u << 20)
#define MODULES_MAX   16384

/* "ffffffff81000000 T _text": the address of the symbol, when the line is about it. */
static bool symbol_line(char *line, const char *name, uint64_t *ret)
{
	size_t len = strlen(line), name_len = strlen(name);

	if (len < name_len + 4 || strcmp(line + len - name_len, name) != 0 ||
	    line[len - name_len - 1] != ' ')
		return false;
	line[strcspn(line, " ")] = '\0';
	return coati_parse_hex(line, ret) == 0;
}

/* Where the kernel begins, in whole lines of kallsyms: _text, or what other kernels have
 * instead. */
struct kernel_start {
	const char *symbol; /* NULL: not seen yet */
	uint64_t addr;
};

static void look_for_start(char *lines, struct kernel_start *ret)
{
	char *line;

	while (strcmp(ret->symbol ? ret->symbol : "", "_text") != 0 &&
	       (line = strsep(&lines, "\n"))) {
		if (symbol_line(line, "_text", &ret->addr))
			ret->symbol = "_text";
		else if (symbol_line(line, "_stext", &ret->addr))
			ret->symbol = "_stext";
	}
}

/* Addresses that are hidden are all zero. */
static bool find_start(int proc_fd, char *text, size_t size, struct kernel_start *ret)
{
	CLEANUP(fd_closep) int fd = openat(proc_fd, "kallsyms", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	*ret = (struct kernel_start){ 0 };
	while (fd >= 0 && !ret->symbol && len < size - 1 &&
	       (n = read(fd, text + len, size - 1 - len)) > 0) {
		char *end;

		len += (size_t)n;
		text[len] = '\0';
		end = strrchr(text, '\n');
		if (!end)
			continue;
		*end++ = '\0';
		look_for_start(text, ret);
		/* the piece of a line behind the last whole one */
		len = (size_t)(text + len - end);
		memmove(text, end, len);
	}
	return ret->symbol && ret->addr;
}

/* The length of "  01000000-02206447 : Kernel code", 0 when it may not be seen. */
static uint64_t find_length(struct synth *s)
{
	char *line, *rest;

	coati_strbuf_clear(&s->text);
	if (coati_file_read(s->proc_fd, "iomem", &s->text) < 0 || !s->text.len)
		return 0;
	rest = s->text.text;
	while ((line = strsep(&rest, "\n"))) {
		uint64_t start, end;
		char *dash, *colon = strstr(line, " : Kernel code");

		if (!colon)
			continue;
		*colon = '\0';
		line += strspn(line, " ");
		dash = strchr(line, '-');
		if (!dash)
			return 0;
		*dash = '\0';
		if (coati_parse_hex(line, &start) < 0 || coati_parse_hex(dash + 1, &end) < 0 ||
		    end <= start)
			return 0;
		return end - start + 1;
	}
	return 0;
}

static int write_kernel_map(struct synth *s, uint64_t addr, uint64_t len, uint64_t pgoff,
			    const char *name)
{
	struct coati_record rec = {
		.type = COATI_RECORD_MMAP,
		.misc = COATI_MISC_KERNEL,
		.u.mmap = { .pid = UINT32_MAX,
			    .addr = addr,
			    .len = len,
			    .pgoff = pgoff,
			    .name = name },
	};

	return coati_synth_emit(s, &rec, UINT32_MAX, 0);
}

/* "xfs 1234 0 - Live 0xffffffffc0000000": the fields between do not matter. */
static int write_module(struct synth *s, char *line, uint64_t *lowest)
{
	char name[72], *word[6];
	uint64_t size, addr;
	int nr = 0;

	while (nr < 6 && (word[nr] = strsep(&line, " ")))
		nr++;
	if (nr < 6 || strlen(word[0]) > sizeof(name) - 3 ||
	    coati_parse_u64(word[1], 1, UINT64_MAX, &size) < 0 ||
	    coati_parse_u64(word[5], 1, UINT64_MAX, &addr) < 0)
		return 0;
	if (addr < *lowest)
		*lowest = addr;
	snprintf(name, sizeof(name), "[%s]", word[0]);
	return write_kernel_map(s, addr, size, 0, name);
}

static int write_modules(struct synth *s, uint64_t *lowest)
{
	char *line, *rest;
	int r = 0;

	coati_strbuf_clear(&s->text);
	if (coati_file_read(s->proc_fd, "modules", &s->text) < 0 || !s->text.len)
		return 0;
	rest = s->text.text;
	for (int i = 0; r >= 0 && i < MODULES_MAX && (line = strsep(&rest, "\n")); i++)
		r = write_module(s, line, lowest);
	return r;
}

int coati_synth_kernel(struct synth *s)
{
	char text[SYMBOL_BYTES], name[64];
	uint64_t length, lowest = UINT64_MAX;
	struct kernel_start start;
	int r;

	if (!find_start(s->proc_fd, text, sizeof(text), &start))
		return 0;
	length = find_length(s);
	snprintf(name, sizeof(name), KERNEL_NAME "%s", start.symbol);
	r = write_modules(s, &lowest);
	if (r < 0)
		return r;
	/* Without a length: as far as nothing else is known to be. */
	if (!length)
		length = (lowest > start.addr ? lowest : UINT64_MAX) - start.addr;
	return write_kernel_map(s, start.addr, length, start.addr, name);
}

static int write_notes_id(struct coati_writer *w, int dirfd, const char *path, const char *name)
{
	struct strbuf s = STRBUF_INIT(NOTES_BYTES);
	struct elf_notes notes;
	struct elf_note n;
	struct elf e = { 0 };
	struct coati_build_id id = { .pid = -1, .misc = COATI_MISC_KERNEL, .path = name };
	int r = 0;

	if (coati_file_read(dirfd, path, &s) == 0) {
		notes = coati_elf_notes(&e, (const uint8_t *)s.text, s.len, 4);
		while (coati_elf_note_next(&notes, &n) > 0) {
			if (n.type != 3 || n.name_size != 4 || memcmp(n.name, "GNU", 4) != 0 ||
			    n.desc_size > 20)
				continue;
			id.size = (uint8_t)n.desc_size;
			memcpy(id.id, n.desc, n.desc_size);
			r = coati_writer_build_id(w, &id);
			break;
		}
	}
	coati_strbuf_fini(&s);
	return r;
}

/* The names are those of mappings above; each is a directory below /sys/module. */
static int write_module_ids(const char *sysfs, const char *procfs, struct coati_writer *w)
{
	struct strbuf list = STRBUF_INIT(MODULES_BYTES);
	char *line, *rest, path[512];
	int r = 0;

	snprintf(path, sizeof(path), "%s/modules", procfs);
	rest = coati_file_read(AT_FDCWD, path, &list) == 0 && list.len ? list.text : NULL;
	for (int i = 0; r >= 0 && i < MODULES_MAX && (line = strsep(&rest, "\n")); i++) {
		char name[72];

		line[strcspn(line, " ")] = '\0';
		if (!line[0] || strchr(line, '/') || strlen(line) > sizeof(name) - 3)
			continue;
		snprintf(name, sizeof(name), "[%s]", line);
		snprintf(path, sizeof(path), "%s/module/%s/notes/.note.gnu.build-id", sysfs, line);
		r = write_notes_id(w, AT_FDCWD, path, name);
	}
	coati_strbuf_fini(&list);
	return r;
}

int coati_synth_kernel_ids(const char *sysfs, const char *procfs, struct coati_writer *w)
{
	char path[512];
	int r;

	snprintf(path, sizeof(path), "%s/kernel/notes", sysfs ? sysfs : "/sys");
	r = write_notes_id(w, AT_FDCWD, path, KERNEL_NAME);
	return r < 0 ? r : write_module_ids(sysfs ? sysfs : "/sys", procfs ? procfs : "/proc", w);
}
