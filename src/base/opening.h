/* SPDX-License-Identifier: MIT */
/*
 * One way to open a file that a recording, a debug file or the user names. The kind says what is
 * wanted; the file is opened here, or by a hook: a reader that is confined (sandbox/) can open
 * nothing itself and asks its broker, which opens the same way and checks what it opened.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <coati/error.h>

#include "base/newfile.h"

enum opening_kind {
	OPEN_INPUT = 0, /* named by the user: a file, a directory, a FIFO, which may be waited
			 * for */
	OPEN_IMAGE,	/* code or debug data: a regular file */
	OPEN_JIT,	/* a perf map or a jitdump: a regular file */
	OPEN_SOURCE,	/* a source file: a regular file */
	OPEN_SYSTEM,	/* a file of /proc or /sys */
	OPEN_FOLDER,	/* in which flight recorders are */
	OPEN_RECORDER,	/* the file of a flight recorder */
	OPEN_TABLE,	/* an unwind table of the cache */
	OPEN_SERVER,	/* what debuginfod servers have: @path is the build ID; only by a hook */
	OPEN_KINDS,
};

enum opening_links {
	OPEN_FOLLOW = 0,   /* links are followed; below @root they stay in it */
	OPEN_NO_LAST_LINK, /* the file itself must not be one */
	OPEN_NO_LINKS,	   /* nor a directory on the way to it */
};

struct opening {
	enum opening_kind kind;
	enum opening_links links;
	bool no_wait;	  /* an input that is a FIFO is not waited for */
	int folder_fd;	  /* 0: none. Else @path is in this directory, whose name is @root */
	const char *root; /* NULL or "": the root of this machine, or the current directory */
	const char *path;
};

/* A descriptor to read from, or negative with a sentence. */
int coati_open_file(const struct opening *o, struct coati_error *err);
/* The same by this process itself, even if there is a hook. */
int coati_open_here(const struct opening *o, struct coati_error *err);

/* Who opens and makes files for this process. */
struct opening_hooks {
	int (*open)(const struct opening *o, struct coati_error *err);
	/* as coati_new_file_open() and _end(); @f->fd is closed by end */
	int (*new_file)(struct new_file *f, const char *path, mode_t mode, struct coati_error *err);
	int (*end_file)(struct new_file *f, bool whole, struct coati_error *err);
};

/* Set once by the tool, before there are threads; NULL: this process itself. */
void coati_opening_hook(const struct opening_hooks *hooks);
const struct opening_hooks *coati_opening_hooks(void);
