/* SPDX-License-Identifier: MIT */
/* see row-check.h */
#include "fleet/row-check.h"

#include <errno.h>
#include <string.h>

#include "fleet/rowbinary.h"

#define COLUMNS_MAX 64

/* How a column is read: @size bytes, or a text; as it is, or as an array of such. */
struct kind {
	uint8_t size; /* 0: a text */
	bool is_array, is_time;
};

static const struct {
	const char *type;
	struct kind kind;
} kinds[] = {
	{ "String", { 0 } },
	{ "DateTime('UTC')", { .size = 4, .is_time = true } },
	{ "UInt8", { .size = 1 } },
	{ "UInt32", { .size = 4 } },
	{ "UInt64", { .size = 8 } },
	{ "Int32", { .size = 4 } },
	{ "Float64", { .size = 8 } },
	{ "Array(String)", { .is_array = true } },
	{ "Array(UInt8)", { .size = 1, .is_array = true } },
	{ "Array(UInt32)", { .size = 4, .is_array = true } },
	{ "Array(UInt64)", { .size = 8, .is_array = true } },
};

static bool find_kind(const char *type, struct kind *ret)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].type, type)) {
			*ret = kinds[i].kind;
			return true;
		}
	return false;
}

/* The number of columns, 0: one has a type that is not known here. */
static uint32_t find_kinds(enum schema_table table, struct kind ret[COLUMNS_MAX])
{
	const char *type;
	uint32_t nr = 0;

	for (; nr < COLUMNS_MAX && (type = coati_schema_type(table, nr)); nr++)
		if (!find_kind(type, &ret[nr]))
			return 0;
	return nr;
}

static void check_array(struct cursor *c, const struct kind *k)
{
	uint64_t nr = row_read_size(c, k->size);
	size_t len;

	if (k->size)
		cursor_skip(c, nr * k->size);
	for (uint64_t i = 0; !k->size && !c->bad && i < nr; i++)
		row_read_text(c, &len);
}

static void check_value(struct cursor *c, const struct kind *k, const struct row_times *times)
{
	size_t len;
	uint32_t time_s;

	if (k->is_array) {
		check_array(c, k);
	} else if (k->is_time) {
		time_s = cursor_u32(c);
		c->bad |= time_s < times->first_s || time_s > times->last_s;
	} else if (k->size) {
		cursor_skip(c, k->size);
	} else {
		row_read_text(c, &len);
	}
}

int coati_row_check(enum schema_table table, const void *bytes, size_t size,
		    const struct row_times *times, uint64_t *ret_rows)
{
	struct cursor c = cursor_over(bytes, size);
	struct kind columns[COLUMNS_MAX];
	uint32_t nr = find_kinds(table, columns);
	uint64_t rows = 0;

	if (!nr)
		return -EBADMSG;
	for (; cursor_left(&c) && !c.bad; rows++)
		for (uint32_t i = 0; i < nr && !c.bad; i++)
			check_value(&c, &columns[i], times);
	if (c.bad)
		return -EBADMSG;
	*ret_rows = rows;
	return 0;
}
