/* SPDX-License-Identifier: MIT */
/*
 * The format file of a tracepoint: what the payload of its records looks like. Text comes in (from
 * tracefs, or from a recording of another machine: it is not trusted), a description in an arena
 * goes out. Sizes and offsets are the kernel's word; type names are kept as text, because typedefs
 * are without number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define TP_FORMAT_TEXT_MAX   (256 * 1024)
#define TP_FORMAT_FIELDS_MAX 1024
#define TP_FORMAT_SIZE_MAX   65536 /* bytes of a record */

enum coati_tp_place {
	COATI_TP_INLINE = 0, /* the bytes of the field are the value */
	COATI_TP_DATA_LOC,   /* u32: low half offset in the record, high half length */
	COATI_TP_REL_LOC,    /* likewise, the offset counts from the end of this field */
};

struct coati_tp_field {
	const char *name;
	/* as the kernel prints it, without the name: "char[16]", "__data_loc char[]" */
	const char *type;
	uint32_t offset, size;
	uint32_t array_len; /* elements of an array in place; 0: no array, or not known */
	enum coati_tp_place place;
	bool is_array; /* has brackets */
	bool is_signed;
	bool is_string;	 /* array of char, in place or elsewhere */
	bool is_pointer; /* a pointer: only its value is in the record */
};

struct coati_tp_format {
	const char *name;
	uint32_t id;
	uint32_t nr_common; /* the first so many fields are in every tracepoint */
	uint32_t nr_fields;
	uint32_t size; /* end of the last field */
	const struct coati_tp_field *fields;
	const char *print_fmt; /* format string and arguments as C text, "" when there is none */
};

/* -EBADMSG when @text is not such a file, -E2BIG over a limit, -ENOMEM. @ret is written only on
 * success. */
int coati_tp_format_parse(const char *text, size_t len, struct arena *arena,
			  struct coati_tp_format *ret);
/* By name, NULL when there is none. */
const struct coati_tp_field *coati_tp_format_find(const struct coati_tp_format *f,
						  const char *name);
