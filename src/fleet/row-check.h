/* SPDX-License-Identifier: MIT */
/*
 * RowBinary from others, checked against the columns of its table before it is passed on: a server
 * would refuse the rows of everybody in the same insert because of one that is cut.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fleet/schema.h"

struct row_times {
	uint32_t first_s, last_s; /* what the times in the rows may be, both included */
};

/* 0: @bytes are whole rows of @table, *@ret_rows of them, and their times are within @times.
 * -EBADMSG: they are not. */
int coati_row_check(enum schema_table table, const void *bytes, size_t size,
		    const struct row_times *times, uint64_t *ret_rows);
