/* SPDX-License-Identifier: MIT */
/* see relay-send.h */
#include "fleet/relay-send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "fleet/bundle.h"

#define ANSWER_MAX 4096

bool coati_relay_is(const char *url)
{
	return !strncmp(url, "relay://", 8) || !strncmp(url, "relays://", 9);
}

int coati_relay_open(const char *url, const char *secrets, struct server *ret,
		     struct coati_error *err)
{
	char http[PLACE_URL_ROOM];
	int n = snprintf(http, sizeof(http), "http%s", url + strlen("relay")), r;

	if (n < 0 || (size_t)n >= sizeof(http))
		return coati_fail(err, -EINVAL, "%.100s: the URL is too long", url);
	r = coati_place_url(http, BUNDLE_PATH, ret->place.url, err);
	return r < 0 ? r : coati_server_client(secrets, "relay", ret, err);
}

static int meaning_of(uint32_t status)
{
	switch (status) {
	case 401:
	case 403:
		return -EACCES;
	case 400:
	case 413:
		return -EBADMSG;
	case 404:
		return -ENOENT;
	case 504: /* the relay has no answer either: as without one of the relay */
		return -ETIMEDOUT;
	default: /* also 409, a relay of another version: it will be updated */
		return -EBUSY;
	}
}

static int judge(const struct server *s, const struct client_answer *a, struct coati_error *err)
{
	struct strbuf text = STRBUF_INIT(ANSWER_MAX);
	int r;

	if (a->status == 200)
		return 0;
	coati_strbuf_clean(&text, a->body.text, strcspn(a->body.text, "\r\n"));
	r = coati_fail(err, meaning_of(a->status), "the relay %.80s answers %u: %.120s",
		       s->place.url, a->status, text.text);
	coati_strbuf_fini(&text);
	return r;
}

static int post(struct server *s, const struct strbuf *body, struct coati_error *err)
{
	struct client_answer a = CLIENT_ANSWER_INIT(ANSWER_MAX);
	char url[PLACE_URL_ROOM + 32];
	struct client_ask ask = { .url = url,
				  .body = body->text,
				  .body_size = body->len,
				  .gzip = true,
				  .headers = { "Content-Type: " BUNDLE_TYPE },
				  .limit_ms = s->limit_ms,
				  .stop = s->stop };
	int r;

	snprintf(url, sizeof(url), "%s?columns=%u", s->place.url, coati_schema_sum());
	s->retry_s = 0;
	r = coati_client_ask(s->client, &ask, &a, err);
	if (r == 0) {
		s->retry_s = a.retry_after_s;
		if (a.date_s)
			s->skew_s = (int64_t)a.date_s - (int64_t)time(NULL);
		r = judge(s, &a, err);
	}
	coati_strbuf_fini(&a.body);
	return r;
}

int coati_relay_send(struct shipment *h, struct server *s, struct coati_error *err)
{
	struct strbuf body = STRBUF_INIT(BUNDLE_BYTES);
	int r;

	coati_bundle_write(h, &body);
	/* trying again does not make it smaller */
	if (body.failed == -E2BIG)
		r = coati_fail(err, -EBADMSG, "a window is too large for a relay");
	else if (body.failed)
		r = coati_fail(err, body.failed, "no memory for a request to the relay");
	else
		r = post(s, &body, err);
	if (r == 0)
		h->sent_bytes += body.len;
	coati_strbuf_fini(&body);
	return r;
}
