/* SPDX-License-Identifier: MIT */
/*
 * Station 4, what code: files with code in them, known by build id, and the names of addresses in
 * them. Symbol tables, line tables, inline frames, the kernel, its modules and BPF programs, code
 * made at run time.
 *
 *	coati_images_new(NULL, &images, &err);
 *	coati_images_get(images, &(struct coati_image_ref){ .size = sizeof(struct coati_image_ref),
 *	.path = "/bin/ls" }, &image, &err);
 *	struct coati_address a = { .image = image, .vaddr = 0x4f2a };
 *	coati_images_resolve(images, &a, 1, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES, &err);
 *	for (uint32_t i = 0; i < a.nr_names; i++)
 *		use(a.names[i].function, a.names[i].file, a.names[i].line);
 *	coati_images_free(&images);
 *
 * A symbol names an address inside [start, start + size) and never beyond the function that the
 * unwind data states. A symbol without a size (assembly: memcpy of musl) reaches to the end of its
 * FDE or, without unwind data, to the next symbol, the next function with an FDE, the entry point
 * or the end of its section, whichever comes first. An address that no symbol covers gets a
 * synthetic name which is the same for the whole function ("libx.so!fn_1a2b0", by the start of its
 * FDE) or, without unwind data, the name of its file and section. What could not be read is counted
 * and said, never hidden.
 *
 * Nothing is opened before it is asked for: an image is looked up when its first address is
 * resolved. Files are hostile: opened without following links for what a foreign process named,
 * regular files only, read through bounds, with ceilings. One object, one thread at a time;
 * coati_images_resolve() may use several threads inside.
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
	COATI_IMAGE_FILE = 0, /* an ELF file: program, library */
	COATI_IMAGE_KERNEL,   /* the running kernel, or that of the recording */
	COATI_IMAGE_MODULE,   /* a kernel module: names by kallsyms or from its file */
	COATI_IMAGE_VDSO,     /* our own auxv image, when the build id says it is the same */
	COATI_IMAGE_BPF,      /* BPF programs; names come with the addresses by ksymbol records */
	COATI_IMAGE_JIT,      /* code made at run time in one process: perf map, jitdump */
	COATI_IMAGE_ANON,     /* executable memory without a file and without a map */
};

/* coati_images_opts.flags */
/* ask the servers of DEBUGINFOD_URLS for what is not here */
#define COATI_IMAGES_DEBUGINFOD (UINT32_C(1) << 0)
/* unwinders of these images neither read nor write the cache on disk */
#define COATI_IMAGES_NO_CACHE (UINT32_C(1) << 1)
/* only what was packed: the files of this machine are not those */
#define COATI_IMAGES_NO_LOCAL (UINT32_C(1) << 2)
#define COATI_IMAGES_MANGLED  (UINT32_C(1) << 3) /* names as they are in the symbol table */
/* Take files below `root` that have no build ID, whatever their size: else they must be as long as
 * what was mapped. Their devices and inodes are not compared. */
#define COATI_IMAGES_TRUST (UINT32_C(1) << 4)

struct coati_images_opts {
	uint64_t size;
	uint32_t flags;
	uint32_t nr_threads;	/* for one resolve; 0: as many as there are CPUs, at most 8 */
	const char *root;	/* look for files under this folder, NULL: / */
	const char *debug_dirs; /* list with ':', NULL: /usr/lib/debug */
	/* of unwind tables, by build id. NULL: $XDG_CACHE_HOME/coati, or ~/.cache/coati; never used
	 * when owned by another user */
	const char *cache_dir;
	/* NULL: /proc/kallsyms, used when the kernel's build id is that of the recording or not
	 * known */
	const char *kallsyms;
	const char *procfs;   /* NULL: /proc */
	uint64_t cache_bytes; /* ceiling of the cache, 0: 256 MiB; the oldest go first */
};

struct coati_images;

COATI_API int coati_images_new(const struct coati_images_opts *opts, struct coati_images **ret,
			       struct coati_error *err);
COATI_API void coati_images_free(struct coati_images **images);

/* Which image: what a mapping record tells. */
struct coati_image_ref {
	uint64_t size;
	enum coati_image_kind kind;
	uint32_t build_id_size; /* 0: not known */
	uint8_t build_id[COATI_BUILD_ID_MAX];
	/* of a process that has it mapped (opened through /proc/PID/map_files, /proc/PID/root while
	 * it lives), 0: none */
	int32_t pid;
	const char *path; /* as the process sees it; "" for none. Copied. */
	uint64_t map_start,
		/* one mapping of it in @pid, 0: none. KERNEL: where its text (_text, or what the
		 * path names behind "]") lay when it was recorded */
		map_end;
	uint64_t ino, ino_generation;
	uint32_t maj,
		/* what the record says of the file, 0: nothing; a file that is not this one is
		 * another image */
		min;
};

/*
 * Find or add: the same build ID and path, or without an ID the same path, device and inode, is the
 * same image. Copies of a file, with one ID under several paths, are an image each and share their
 * names. JIT and ANON images are one a process (pid). The index counts from 0 and stays. -E2BIG
 * after 2^20.
 */
COATI_API int coati_images_get(struct coati_images *images, const struct coati_image_ref *ref,
			       uint32_t *ret_image, struct coati_error *err);
COATI_API uint32_t coati_images_count(const struct coati_images *images);

struct coati_image_info {
	enum coati_image_kind kind;
	uint32_t build_id_size;
	const uint8_t *build_id;
	const char *path;   /* as named */
	const char *name;   /* short: the file's name, "[kernel]", "[vdso]", "[jit pid 123]" */
	const char *opened; /* the file that was really read, NULL: none (yet) */
	const char *debug;  /* the file that gave lines, NULL: none */
	const char *why; /* why there are no symbols or lines, a sentence; NULL: nothing to say */
	uint32_t nr_symbols;
	uint32_t is_packed; /* 1: names came with the recording */
};
/* Strings live as long as the images. -EINVAL: no such image. */
COATI_API int coati_image_info(struct coati_images *images, uint32_t image,
			       struct coati_image_info *ret);
/* Offset in the file, of an instruction, to the address that the file's tables use, by its program
 * headers. Not for the offset at which a mapping begins, which may lie in another segment: see
 * coati_image_bias(). Opens the file. -ENOENT when nothing is mapped from there or the file cannot
 * be read (then the offset itself is used everywhere, and names are synthetic). */
COATI_API int coati_image_vaddr(struct coati_images *images, uint32_t image, uint64_t file_offset,
				uint64_t *ret_vaddr);
/* A mapping of a file, as /proc/PID/maps has it. */
struct coati_image_mapping {
	uint64_t start, end;
	uint64_t file_offset;
};
/* What to subtract from addresses in a mapping of code to get those of the file, by the segment
 * that is mapped there; the same for the whole mapping. -ENOENT: no segment of the file is there,
 * or the file cannot be read; -EINVAL. *ret_bias only on success. */
COATI_API int coati_image_bias(struct coati_images *images, uint32_t image,
			       const struct coati_image_mapping *map, uint64_t *ret_bias);
/* A descriptor of the very file, after the checks; the caller closes it. Negative errno. */
COATI_API int coati_image_open_fd(struct coati_images *images, uint32_t image,
				  struct coati_error *err);

/* ---- names ---- */

/* coati_name.flags */
#define COATI_NAME_INLINE    (UINT32_C(1) << 0) /* inlined into the next of the list */
#define COATI_NAME_SYNTHETIC (UINT32_C(1) << 1) /* no symbol covers it: made from file and offset */
#define COATI_NAME_ALIASED   (UINT32_C(1) << 2) /* one of several names of the same code */
#define COATI_NAME_PLT	     (UINT32_C(1) << 3) /* a stub, "name@plt" */

/* One source-level frame. Strings live as long as the images. */
struct coati_name {
	const char *function; /* demangled unless MANGLED; never NULL */
	const char *symbol;   /* as in the symbol table or DWARF; NULL when synthetic */
	const char *file;     /* source; NULL: not known */
	uint32_t line, column;
	/* of the function, addresses of the file; 0, 0 when not known */
	uint64_t start, length;
	uint32_t flags;
	uint32_t decl_line;
};

struct coati_address {
	uint32_t image;
	uint32_t flags;
	/* in the file's own addresses; for KERNEL, MODULE, BPF, JIT and ANON: the address itself. A
	 * caller's frame passes the return address - 1. */
	uint64_t vaddr;
	uint64_t time; /* JIT, BPF: when, because code is replaced; 0: last */
	/* the answer, innermost first */
	const struct coati_name *names;
	uint32_t nr_names; /* at least 1 after a resolve that returned 0 */
	uint32_t reserved;
};

#define COATI_RESOLVE_LINES (UINT32_C(1) << 0)
/* implies nothing about lines: both may be asked */
#define COATI_RESOLVE_INLINES (UINT32_C(1) << 1)

/* Names for all of them, each file and each compilation unit walked once. -ENOMEM is the only
 * failure, and not that of one image: then its addresses without a name are called "[out of
 * memory]", and coati_image_info() says so. What is not known has a synthetic name. The same
 * address asked again costs a look-up. */
COATI_API int coati_images_resolve(struct coati_images *images, struct coati_address *addresses,
				   size_t nr, uint32_t flags, struct coati_error *err);

/* A symbol that a record told: KSYMBOL (KERNEL, BPF), a JIT's own report. @time 0: from the start;
 * a later one at the same place replaces it. */
COATI_API int coati_image_add_symbol(struct coati_images *images, uint32_t image, uint64_t start,
				     uint64_t length, const char *name, uint64_t time);
/* Read the perf map (/tmp/perf-PID.map as the process sees it) or the jitdump file @path into a JIT
 * image. Refused unless it is a regular file, no link, owned by the process' user or root, below
 * the ceiling; the reason is in @err and counted. */
COATI_API int coati_image_load_perf_map(struct coati_images *images, uint32_t image, int32_t pid,
					const char *path, struct coati_error *err);
COATI_API int coati_image_load_jitdump(struct coati_images *images, uint32_t image, int32_t pid,
				       const char *path, struct coati_error *err);

/* "_ZN3foo3barEv" to "foo::bar()", Rust's too; the same text when it is none of these, or longer
 * than our ceiling. The size without the terminator, -ENOSPC when @cap is too small. */
COATI_API int coati_demangle(const char *symbol, char *buf, size_t cap);

/* ---- names that travel with a recording (docs/formats/symbols.md) ---- */

/* Payloads of COATI_BATCH_SYMBOLS batches. Called for each batch, at most COATI_LIVE_BATCH_MAX - 64
 * bytes each; non-zero ends it. */
typedef int (*coati_pack_fn)(void *ctx, const void *payload, size_t size);
/* All that was resolved so far, with lines and inline frames where they were asked. */
COATI_API int coati_images_pack(struct coati_images *images, coati_pack_fn fn, void *ctx);
/* A payload of a recording: its names answer before the files of this machine do. -EBADMSG:
 * malformed, nothing of it is kept. */
COATI_API int coati_images_unpack(struct coati_images *images, const void *payload, size_t size);

#ifdef __cplusplus
}
#endif
#endif
