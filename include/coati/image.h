/* SPDX-License-Identifier: MIT */
/*
 * Images: files with code in them, identified by build ID, and the names of addresses in them, from
 * symbol tables, line tables and inline information; for programs, libraries, the kernel, its
 * modules, BPF programs and code generated at run time.
 *
 *	struct coati_image_ref ref = { .size = sizeof(ref), .path = "/bin/ls" };
 *	struct coati_address a = { .vaddr = 0x4f2a };
 *
 *	coati_images_new(NULL, &images, &err);
 *	coati_images_get(images, &ref, &a.image, &err);
 *	coati_images_resolve(images, &a, 1, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES, &err);
 *	for (uint32_t i = 0; i < a.nr_names; i++)
 *		printf("%s %s:%u\n", a.names[i].function, a.names[i].file, a.names[i].line);
 *	coati_images_free(&images);
 *
 * A symbol names the addresses from its start up to its size, and never beyond the end of the
 * function according to the unwind data. An address that no symbol covers gets a synthetic name,
 * which is the same for the whole function: "libx.so!fn_1a2b0".
 *
 * Files are opened when the first address in them is resolved. They are not trusted: only regular
 * files are opened, symlinks owned by other users are not followed, every read is checked. One
 * object is used by one thread at a time; coati_images_resolve() may use several threads itself. No
 * function may be called from a signal handler. coati-symbols(3) has an example.
 */
#ifndef COATI_IMAGE_H
#define COATI_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COATI_BUILD_ID_MAX 20
#define COATI_IMAGE_NONE   UINT32_MAX

enum coati_image_kind {
	COATI_IMAGE_FILE = 0, /* an ELF file: program or library */
	COATI_IMAGE_KERNEL,   /* the running kernel, or that of the recording */
	COATI_IMAGE_MODULE,   /* a kernel module: names from kallsyms or its file */
	COATI_IMAGE_VDSO,     /* of this process, when the build ID is the same */
	COATI_IMAGE_BPF,      /* BPF programs; names come with KSYMBOL records */
	COATI_IMAGE_JIT,      /* code generated at run time in one process: perf map, jitdump */
	COATI_IMAGE_ANON,     /* executable memory without a file and without a map */
};

/* coati_images_opts.flags */
/* Ask the servers of DEBUGINFOD_URLS for files that are not on this machine. */
#define COATI_IMAGES_DEBUGINFOD (UINT32_C(1) << 0)
/* Unwinders of these images do not use the cache on disk. */
#define COATI_IMAGES_NO_CACHE (UINT32_C(1) << 1)
/* Use only symbols that came with the recording, not the files of this machine. */
#define COATI_IMAGES_NO_LOCAL (UINT32_C(1) << 2)
/* Do not demangle names. */
#define COATI_IMAGES_MANGLED (UINT32_C(1) << 3)
/* Use files below `root` that have no build ID, whatever their size; without this flag they must be
 * as long as what was mapped. */
#define COATI_IMAGES_TRUST (UINT32_C(1) << 4)

struct coati_images_opts {
	uint64_t size;		/* sizeof(struct coati_images_opts) */
	uint32_t flags;		/* COATI_IMAGES_* */
	uint32_t nr_threads;	/* of one resolve; 0: the number of CPUs, at most 8 */
	const char *root;	/* look for files below this directory; NULL: / */
	const char *debug_dirs; /* separated by ':'; NULL: /usr/lib/debug */
	/* of unwind tables, by build ID. NULL: $XDG_CACHE_HOME/coati, or ~/.cache/coati; not used
	 * when it is owned by another user */
	const char *cache_dir;
	/* NULL: /proc/kallsyms, when the kernel's build ID is that of the recording or not known */
	const char *kallsyms;
	const char *procfs;   /* NULL: /proc */
	uint64_t cache_bytes; /* limit of the cache, 0: 256 MiB; the oldest files are removed */
};

struct coati_images;

/* @opts may be NULL. */
COATI_API int coati_images_new(const struct coati_images_opts *opts, struct coati_images **ret,
			       struct coati_error *err);
/* *images becomes NULL; NULL is fine. */
COATI_API void coati_images_free(struct coati_images **images);

/* Identifies an image, with the data of a mapping record. */
struct coati_image_ref {
	uint64_t size; /* sizeof(struct coati_image_ref) */
	enum coati_image_kind kind;
	uint32_t build_id_size; /* 0: not known */
	uint8_t build_id[COATI_BUILD_ID_MAX];
	/* of a process that has it mapped, 0: none. While it lives, the file is opened through
	 * /proc/PID/map_files or /proc/PID/root */
	int32_t pid;
	const char *path; /* as the process sees it; "": none. Copied */
	/* one mapping of it in @pid, 0: none. KERNEL: where its text was when it was recorded */
	uint64_t map_start, map_end;
	/* device and inode of the file, as in the record, 0: not known; another file is another
	 * image */
	uint64_t ino, ino_generation;
	uint32_t maj, min;
};

/* Find or add an image: the same build ID and path, or without an ID the same path, device and
 * inode, is the same image. Copies of a file, with one ID under several paths, are separate images
 * that share their names. JIT and ANON images are one per process. Numbers count from 0 and do not
 * change. -E2BIG after 2^20. */
COATI_API int coati_images_get(struct coati_images *images, const struct coati_image_ref *ref,
			       uint32_t *ret_image, struct coati_error *err);

struct coati_image_info {
	uint64_t size; /* sizeof(struct coati_image_info) */
	enum coati_image_kind kind;
	uint32_t build_id_size;
	const uint8_t *build_id;
	const char *path;   /* as named */
	const char *name;   /* short: the file's name, "[kernel]", "[vdso]", "[jit pid 123]" */
	const char *opened; /* the file that was read; NULL: none (yet) */
	const char *debug;  /* the file that has the line tables; NULL: none */
	const char *why;    /* message: why there are no symbols or lines; NULL: there are */
	uint32_t nr_symbols;
	uint32_t is_packed; /* 1: symbols came with the recording */
};
/* Strings live as long as the images. -EINVAL: no such image. Set ret->size first. */
COATI_API int coati_image_info(struct coati_images *images, uint32_t image,
			       struct coati_image_info *ret);

/* ---- names ---------------------------------------------------------------------------------- */

/* coati_name.flags */
#define COATI_NAME_INLINE    (UINT32_C(1) << 0) /* inlined into the next of the list */
#define COATI_NAME_SYNTHETIC (UINT32_C(1) << 1) /* no symbol covers the address */
#define COATI_NAME_ALIASED   (UINT32_C(1) << 2) /* one of several names of the same code */
#define COATI_NAME_PLT	     (UINT32_C(1) << 3) /* a stub, "name@plt" */

/* One source-level frame. Strings live as long as the images. Frozen, because the library returns
 * arrays of it. */
struct coati_name {
	const char *function; /* demangled unless COATI_IMAGES_MANGLED; never NULL */
	const char *symbol;   /* as in the symbol table or DWARF; NULL: synthetic */
	const char *file;     /* source; NULL: not known */
	uint32_t line, column;
	uint64_t start, length; /* of the function, in the file's addresses; 0: not known */
	uint32_t flags;		/* COATI_NAME_* */
	uint32_t decl_line;
};

/* An address to symbolize, and the result. Frozen. */
struct coati_address {
	uint32_t image;
	uint32_t flags; /* none yet: 0 */
	/* In the file's own addresses; for KERNEL, MODULE, BPF, JIT and ANON the address itself.
	 * For the frame of a caller: the return address - 1. */
	uint64_t vaddr;
	/* JIT, BPF: time of the sample, because code is replaced; 0: the last code there */
	uint64_t time;
	/* the result, innermost first */
	const struct coati_name *names;
	uint32_t nr_names; /* at least 1 after a resolve that returned 0 */
	uint32_t reserved;
};

#define COATI_RESOLVE_LINES   (UINT32_C(1) << 0) /* file and line */
#define COATI_RESOLVE_INLINES (UINT32_C(1) << 1) /* inlined functions */

/* Symbolize @nr addresses; each file and compilation unit is read once. Addresses without a symbol
 * get a synthetic name. An address that was resolved before costs only a look-up. -ENOMEM is the
 * only failure; when memory for a single image runs out, its addresses are named "[out of memory]"
 * instead. */
COATI_API int coati_images_resolve(struct coati_images *images, struct coati_address *addresses,
				   size_t nr, uint32_t flags, struct coati_error *err);

/* "_ZN3foo3barEv" to "foo::bar()", for C++ and Rust; other names, and names over a length limit,
 * are copied unchanged. Returns the length without the terminator, or -ENOSPC.  Thread: any. */
COATI_API int coati_demangle(const char *symbol, char *buf, size_t cap);

#ifdef __cplusplus
}
#endif
#endif
