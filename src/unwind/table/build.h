/* SPDX-License-Identifier: MIT */
/*
 * Unwind data of a file to its compact table. Sections come in as bytes (or out of an ELF file),
 * one block of memory goes out. Needs libc alone; allocates while it works, never afterwards.
 *
 * Function entries may come in any order, overlap and repeat: they are sorted, the one that starts
 * last wins from its start on, of two with the same start the first of the file. Code without
 * unwind data is a gap, which is not the end of a stack; known stubs in gaps (PLT, the signal
 * return, the entry point) get the rule that their bytes show. Damaged entries are counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/elf.h"
#include "unwind/table/cfi.h"
#include "unwind/table/table.h"

/* A piece of executable code. */
struct table_code {
	uint64_t start, size;
	const uint8_t *bytes; /* NULL: not known; stubs are not looked for */
	size_t nr_bytes;      /* from the start */
};

/* A section of stubs: .plt, .plt.sec, .plt.got; .init and .fini, each one function put together by
 * the linker. */
struct table_stubs {
	uint64_t start, size;
	bool is_lazy; /* .plt: begins with the common entry */
	bool is_init; /* .init, .fini */
};

/* A function whose unwind data is not to be followed. */
enum table_mark_kind {
	TABLE_MARK_GAP,	  /* as if it had none */
	TABLE_MARK_ROOT,  /* the outermost frame */
	TABLE_MARK_START, /* the outermost frame, unless unwind data says more */
};

struct table_mark {
	uint64_t start, size;
	enum table_mark_kind kind;
};

#define TABLE_STUBS_MAX 8
#define TABLE_MARKS_MAX 24

/* Have these bytes of code ready; negative: they are not there. */
typedef int (*table_fetch_fn)(void *ctx, const uint8_t *bytes, size_t size);

struct table_input {
	uint32_t machine;
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	uint32_t nr_sections;
	/* A .debug_frame that is compressed, as it lies in the file (NULL: none). Who can inflate
	 * it puts it into @sections by coati_table_input_add(). */
	const uint8_t *packed;
	size_t packed_size;
	bool is_packed_flagged; /* by SHF_COMPRESSED, not by its name .zdebug_frame */
	uint64_t text, data;	/* addresses of .text and .got, which pointers may be relative to */
	struct table_code code[TABLE_RANGES_MAX];
	uint32_t nr_code;
	struct table_stubs stubs[TABLE_STUBS_MAX];
	uint32_t nr_stubs;
	struct table_mark marks[TABLE_MARKS_MAX];
	uint32_t nr_marks;
	uint64_t entry;	      /* 0: none */
	table_fetch_fn fetch; /* asked before code is looked at; NULL: all of it is there */
	void *fetch_ctx;
	uint8_t build_id[20];
	uint32_t build_id_size;
};

/* One function entry, found and sorted. Places are those of table_place(). */
struct table_fde {
	uint32_t place, length;
	uint32_t offset; /* in its section */
	uint32_t section : 1, cie : 31;
};

/* Take what a table is made of out of an ELF file. -EOPNOTSUPP: a machine or byte order that is not
 * ours; -ENODATA: no unwind data and no code; -E2BIG; -EBADMSG. Points into the file's bytes. */
int coati_table_input(const struct elf *elf, struct table_input *ret, struct coati_error *err);
/* Add the bytes of a .debug_frame, which must stay as long as @in is used. */
void coati_table_input_add(struct table_input *in, const uint8_t *bytes, size_t size);
/* Make the table: memory of base/alloc.h, 8-aligned, which coati_table_open() takes. 0, -ENOMEM,
 * -E2BIG (too much code or too many rows), -EINVAL (no code), -EOPNOTSUPP (machine). */
int coati_table_build(const struct table_input *in, void **ret_bytes, size_t *ret_size);
