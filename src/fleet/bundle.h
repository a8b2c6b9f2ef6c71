/* SPDX-License-Identifier: MIT */
/*
 * Parcels of one host and one day on their way to a relay: the body of one POST to /parcels. In
 * front of each parcel stand a byte that says whether it was sent before, and its length (LEB128).
 * The relay answers 200 when the server has all of them, and not before.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "fleet/shipment.h"

#define BUNDLE_PATH "/parcels"
/* No form of a web page can send this type to a relay. */
#define BUNDLE_TYPE  "application/x-coati-parcels"
#define BUNDLE_BYTES (64u << 20) /* before gzip */
/* Of one table, when there are several parcels: what an agent puts into a request. */
#define BUNDLE_TABLE_BYTES (4u << 20)

struct bundle {
	ARRAY(struct shipment_parcel) parcels;
};

/* All parcels of @h behind what @body holds. */
void coati_bundle_write(const struct shipment *h, struct strbuf *body);
/* Every parcel and every row of it is checked, and what the parcel says of its rows. -EBADMSG with
 * the reason, -ENOMEM; then @ret is empty. */
int coati_bundle_read(struct bundle *ret, const void *bytes, size_t size, struct coati_error *err);
void coati_bundle_fini(struct bundle *b);
