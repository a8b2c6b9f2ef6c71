/* SPDX-License-Identifier: MIT */
/*
 * The function table of a Go program (.gopclntab), which the Go runtime needs and strip leaves
 * alone. A file comes in; its functions go out in the order of their code, each with its name and
 * with how far the stack pointer is from the return address at each instruction. Tables of Go 1.16
 * and later.
 *
 * Everything in it is compared with its size: a damaged table gives -EBADMSG or fewer functions,
 * and costs no more than its bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "image/copy.h"

struct go_table {
	const uint8_t *bytes; /* of the section; they live as long as the copy */
	size_t size;
	uint64_t text; /* what offsets of functions count from; 0: entries are addresses */
	uint32_t nr;
	uint32_t entry_bytes; /* of an entry of the index: 4 or 8 */
	uint8_t quantum;      /* bytes that addresses in its tables count in */
	const char *names;    /* all of them, each terminated, the last byte is zero */
	size_t names_size;
	size_t steps, functions; /* where these tables begin */
};

struct go_function {
	uint64_t start, end;
	uint32_t name;	/* offset in the names */
	uint32_t steps; /* where those of its stack pointer begin, 0: there are none */
};

/* The head of a table: 1, 0 when it is none that we know; -EBADMSG. @t->text is what it says of
 * where code begins. */
int coati_go_table_read(struct go_table *t, const uint8_t *bytes, size_t size);
/* Find the table of @file and where its code begins: 1, 0 when it has none that we know;
 * -EBADMSG. */
int coati_go_table_init(struct go_table *t, struct copy *file);
/* Function number @i; false: its entry is malformed. */
bool coati_go_function(const struct go_table *t, uint32_t i, struct go_function *ret);

/* A walk over the distances of one function. */
struct go_steps {
	struct cursor at;
	uint64_t pc, end;
	int64_t distance;
	uint8_t quantum;
	bool began;
};

struct go_step {
	uint64_t start, end; /* addresses for which it holds */
	/* bytes from the stack pointer to the return address; on arm64 the size of the frame */
	uint32_t distance;
};

struct go_steps coati_go_steps(const struct go_table *t, const struct go_function *f);
/* 1 and the next, 0 at the end; -EBADMSG: what follows is malformed. */
int coati_go_step_next(struct go_steps *s, struct go_step *ret);
