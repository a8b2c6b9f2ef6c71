/* SPDX-License-Identifier: MIT */
/* The agent's side of a relay: parcels go there in a bundle (bundle.h) instead of to the server. */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

#include "fleet/query.h"
#include "fleet/shipment.h"

/* Is it relay://HOST:PORT, or relays:// with TLS? */
bool coati_relay_is(const char *url);
/* Secrets are those of the sink "relay". No request is made. -EINVAL, -EPERM. */
int coati_relay_open(const char *url, const char *secrets, struct server *ret,
		     struct coati_error *err);
/* 0: the database has all of it. Negative: as coati_server_insert(). */
int coati_relay_send(struct shipment *h, struct server *s, struct coati_error *err);
