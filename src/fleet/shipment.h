/* SPDX-License-Identifier: MIT */
/*
 * Parcels of one day that are inserted together: one block for each table. Before parcels are sent
 * again, the server is asked which of them it has, so that nothing counts twice.
 *
 * Each table that counts is asked by the first row of the parcel: an insert is one block, which is
 * there as a whole or not at all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "fleet/parcel.h"
#include "fleet/query.h"

#define SHIPMENT_PARCELS 360
#define SHIPMENT_ROWS	 500000
#define SHIPMENT_BYTES	 (32u << 20) /* of one table */
#define SHIPMENT_TEXTS	 (1u << 20)  /* names in the question whether parcels are there */

struct shipment_parcel {
	struct parcel p;
	bool has_rows, has_tasks, has_window; /* the server has them */
	bool tried;
};

struct shipment {
	struct shipment_parcel *v;
	size_t nr, cap;
	uint64_t rows, texts, bytes[SCHEMA_SENT];
	uint64_t max_bytes; /* of one table */
	/* The inserts are those of a relay, and any relay may have sent a parcel before. */
	bool is_relay;
	char tag[96]; /* how the ids of our inserts begin */
	uint64_t *nr_inserts;
	uint64_t sent_bytes, sent_rows; /* by the last send */
};

/* At most @cap parcels. */
int coati_shipment_init(struct shipment *h, size_t cap, uint64_t *nr_inserts);
void coati_shipment_fini(struct shipment *h);
/* Take over @p. False: it does not fit: another day, or too much; it stays the caller's. */
bool coati_shipment_add(struct shipment *h, struct parcel *p, bool tried);
/* 0: all of it is on the server, once. Negative: as coati_server_insert(). */
int coati_shipment_send(struct shipment *h, struct server *s, struct coati_error *err);
