/* SPDX-License-Identifier: MIT */
/* see closure.h */
#include "capture/closure.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "image/copy.h"

#define ORIGIN "$ORIGIN"

struct closure {
	ARRAY(char *) paths; /* real ones, each once; those before `done` were looked into */
};

static const char *const default_dirs =
	"/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
	"/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";

/* True when the file is there, and known by now. */
static bool add(struct closure *c, const char *path)
{
	char real[PATH_MAX], **slot;

	if (!realpath(path, real) || access(real, R_OK) < 0)
		return false;
	for (size_t i = 0; i < c->paths.len; i++)
		if (!strcmp(c->paths.v[i], real))
			return true;
	slot = ARRAY_ADD(&c->paths);
	if (!slot)
		return true;
	*slot = coati_strdup(real);
	c->paths.len -= !*slot;
	return true;
}

/* @name in one of @dirs, which are separated by colons; $ORIGIN is the directory of @of. */
static bool find_in(struct closure *c, const char *dirs, const char *name, const char *of)
{
	const char *slash = strrchr(of, '/');
	char path[PATH_MAX];

	for (const char *at = dirs; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		int len = (int)strcspn(at, ":"), n;
		bool is_origin = !strncmp(at, ORIGIN, strlen(ORIGIN));

		if (is_origin && len >= (int)strlen(ORIGIN))
			n = snprintf(path, sizeof(path), "%.*s%.*s/%s", (int)(slash - of), of,
				     len - (int)strlen(ORIGIN), at + strlen(ORIGIN), name);
		else
			n = snprintf(path, sizeof(path), "%.*s/%s", len, at, name);
		if (n > 0 && (size_t)n < sizeof(path) && path[0] == '/' && add(c, path))
			return true;
	}
	return false;
}

static void find_library(struct closure *c, const char *name, const char *runpath, const char *of)
{
	if (strchr(name, '/')) {
		(void)add(c, name);
		return;
	}
	if (!find_in(c, getenv("LD_LIBRARY_PATH"), name, of) && !find_in(c, runpath, name, of))
		(void)find_in(c, default_dirs, name, of);
}

/* The bytes of a section, read now. */
static const uint8_t *section(struct copy *f, const char *name, struct elf_section *ret,
			      size_t *ret_size)
{
	if (coati_elf_section_find(&f->elf, name, ret) <= 0 ||
	    !coati_copy_bytes(f, ret->offset, ret->size))
		return NULL;
	return coati_elf_section_bytes(&f->elf, ret, ret_size);
}

/* The string of the next entry from *at on in the dynamic section that has one of two tags. */
static const char *dynamic_text(struct copy *f, size_t *at, int64_t tag, int64_t other)
{
	struct elf_section dynamic, strings;
	const uint8_t *bytes;
	size_t size;

	bytes = section(f, ".dynamic", &dynamic, &size);
	if (!bytes || !section(f, ".dynstr", &strings, &(size_t){ 0 }))
		return NULL;
	while (*at + sizeof(Elf64_Dyn) <= size) {
		Elf64_Dyn d;

		memcpy(&d, bytes + *at, sizeof(d));
		*at += sizeof(d);
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == tag || d.d_tag == other)
			return coati_elf_string(&f->elf, strings.index, d.d_un.d_val);
	}
	return NULL;
}

/* What a file needs. */
static void look_into(struct closure *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *runpath, *name;
	struct elf_section interp;
	const uint8_t *bytes;
	struct copy f;
	size_t size, at = 0;

	if (fd < 0)
		return;
	if (coati_copy_open(&f, fd, path, NULL) < 0) {
		close(fd);
		return;
	}
	bytes = section(&f, ".interp", &interp, &size);
	if (bytes && size && !bytes[size - 1])
		(void)add(c, (const char *)bytes);
	runpath = dynamic_text(&f, &at, DT_RUNPATH, DT_RPATH);
	at = 0;
	while ((name = dynamic_text(&f, &at, DT_NEEDED, DT_NEEDED)))
		find_library(c, name, runpath, path);
	coati_copy_close(&f);
}

/* As execvp() looks for it. */
static bool find_program(struct closure *c, const char *program)
{
	return strchr(program, '/') ? add(c, program) : find_in(c, getenv("PATH"), program, "/");
}

void coati_closure_each(const char *program, void (*fn)(void *ctx, const char *path), void *ctx)
{
	struct closure c = { .paths.max = CLOSURE_FILES_MAX };

	(void)find_program(&c, program);
	for (size_t i = 0; i < c.paths.len; i++) {
		look_into(&c, c.paths.v[i]);
		fn(ctx, c.paths.v[i]);
	}
	for (size_t i = 0; i < c.paths.len; i++)
		coati_free(c.paths.v[i]);
	ARRAY_FINI(&c.paths);
}
