/* SPDX-License-Identifier: MIT */
/* see client.h */
#include "fleet/client.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "build-config.h"
#include "fleet/secrets.h"
#include "format/gzip.h"

#if COATI_HAVE_LIBCURL

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>

#define CONNECT_MS 5000
#define LIMIT_MS   30000
#define BODY_MAX   (1u << 30)
#define USER_AGENT "coati"

/* The calls that we use: linking libcurl would make every verb of the tool start later. */
struct calls {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	void (*easy_reset)(CURL *h);
	void (*easy_cleanup)(CURL *h);
	CURLcode (*setopt)(CURL *h, CURLoption o, ...);
	CURLcode (*perform)(CURL *h);
	CURLcode (*getinfo)(CURL *h, CURLINFO i, ...);
	struct curl_slist *(*add)(struct curl_slist *l, const char *line);
	void (*free_all)(struct curl_slist *l);
	const char *(*text)(CURLcode code);
};

struct client {
	CURL *h;
	const struct secrets *secrets;
	char problem[CURL_ERROR_SIZE];
};

static struct calls calls;
static int loaded; /* 1, or a negative errno */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find(void *lib, void *slot, const char *name)
{
	*(void **)slot = dlsym(lib, name);
	return *(void **)slot != NULL;
}

/* Never closed: libraries that it loads stay until the end. */
static void load(void)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	void *lib = NULL;

	for (size_t i = 0; !lib && i < sizeof(names) / sizeof(*names); i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	loaded = lib && find(lib, &calls.global_init, "curl_global_init") &&
				 find(lib, &calls.easy_init, "curl_easy_init") &&
				 find(lib, &calls.easy_reset, "curl_easy_reset") &&
				 find(lib, &calls.easy_cleanup, "curl_easy_cleanup") &&
				 find(lib, &calls.setopt, "curl_easy_setopt") &&
				 find(lib, &calls.perform, "curl_easy_perform") &&
				 find(lib, &calls.getinfo, "curl_easy_getinfo") &&
				 find(lib, &calls.add, "curl_slist_append") &&
				 find(lib, &calls.free_all, "curl_slist_free_all") &&
				 find(lib, &calls.text, "curl_easy_strerror") &&
				 calls.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK
			 ? 1
			 : -EOPNOTSUPP;
}

int coati_client_open(const struct secrets *secrets, struct client **ret, struct coati_error *err)
{
	struct client *c;

	pthread_once(&once, load);
	if (loaded < 0)
		return coati_fail(err, loaded,
				  "requests to servers need libcurl.so.4, which is not installed: "
				  "apt install libcurl4");
	c = coati_alloc(sizeof(*c));
	if (!c || !(c->h = calls.easy_init())) {
		coati_free(c);
		return coati_fail(err, -ENOMEM, "no memory for an HTTP client");
	}
	c->secrets = secrets;
	*ret = c;
	return 0;
}

void coati_client_close(struct client **c)
{
	if (!*c)
		return;
	calls.easy_cleanup((*c)->h);
	coati_free(*c);
	*c = NULL;
}

/* ---- callbacks of one request ---- */

static size_t on_body(char *bytes, size_t size, size_t nr, void *ctx)
{
	struct client_answer *a = ctx;

	coati_strbuf_add(&a->body, bytes, size * nr);
	return a->body.failed ? 0 : size * nr;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct client_ask *ask = ctx;

	return ask->stop && atomic_load_explicit(ask->stop, memory_order_acquire) != 0;
}

/* "Date: Mon, 16 Nov 2026 16:29:30 GMT" */
static uint64_t parse_date(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S", &tm);
	time_t t = end ? timegm(&tm) : 0;

	return t > 0 ? (uint64_t)t : 0;
}

static size_t on_header(char *bytes, size_t size, size_t nr, void *ctx)
{
	struct client_answer *a = ctx;
	char line[128];
	size_t len = size * nr < sizeof(line) ? size * nr : sizeof(line) - 1;

	memcpy(line, bytes, len);
	line[len] = 0;
	if (!strncasecmp(line, "date: ", 6))
		a->date_s = parse_date(line + 6);
	return size * nr;
}

/* ---- a request ---- */

static int compress(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *to = ctx;

	coati_strbuf_add(to, bytes, size);
	return to->failed;
}

static int make_body(const struct client_ask *ask, struct strbuf *packed, struct coati_error *err)
{
	struct deflater *d = NULL;
	int r = coati_deflater_new(compress, packed, &d, err);

	if (r < 0)
		return r;
	r = coati_deflater_put(d, ask->body, ask->body_size, true);
	coati_deflater_free(d);
	return r < 0 ? coati_fail(err, r, "cannot compress a request: %m") : 0;
}

static struct curl_slist *add_line(struct curl_slist *list, const char *line, int *failed)
{
	struct curl_slist *more = calls.add(list, line);

	if (!more)
		*failed = -ENOMEM;
	return more ? more : list;
}

static struct curl_slist *make_headers(const struct client *c, const struct client_ask *ask,
				       bool is_packed, int *failed)
{
	/* no "Expect: 100-continue": it costs a round trip */
	struct curl_slist *list = add_line(NULL, "Expect:", failed);
	struct strbuf line = STRBUF_INIT(16384);

	for (size_t i = 0; i < CLIENT_HEADERS && ask->headers[i]; i++)
		list = add_line(list, ask->headers[i], failed);
	if (is_packed)
		list = add_line(list, "Content-Encoding: gzip", failed);
	if (c->secrets && c->secrets->token) {
		coati_strbuf_printf(&line, "Authorization: Bearer %s", c->secrets->token);
		list = add_line(list, line.text, failed);
		if (line.cap)
			explicit_bzero(line.text, line.len);
		coati_strbuf_fini(&line);
	}
	return list;
}

static void set_secrets(const struct client *c)
{
	const struct secrets *s = c->secrets;

	calls.setopt(c->h, CURLOPT_SSL_VERIFYPEER, 1L);
	calls.setopt(c->h, CURLOPT_SSL_VERIFYHOST, 2L);
	if (!s)
		return;
	if (s->user && !s->token) {
		calls.setopt(c->h, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		calls.setopt(c->h, CURLOPT_USERNAME, s->user);
		calls.setopt(c->h, CURLOPT_PASSWORD, s->password ? s->password : "");
	}
	if (s->ca)
		calls.setopt(c->h, CURLOPT_CAINFO, s->ca);
	if (s->cert)
		calls.setopt(c->h, CURLOPT_SSLCERT, s->cert);
	if (s->key)
		calls.setopt(c->h, CURLOPT_SSLKEY, s->key);
}

static void set_request(struct client *c, const struct client_ask *ask, struct client_answer *ret)
{
	calls.easy_reset(c->h);
	calls.setopt(c->h, CURLOPT_URL, ask->url);
	calls.setopt(c->h, CURLOPT_ERRORBUFFER, c->problem);
	calls.setopt(c->h, CURLOPT_USERAGENT, USER_AGENT);
	calls.setopt(c->h, CURLOPT_NOSIGNAL, 1L);
	calls.setopt(c->h, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
	calls.setopt(c->h, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	calls.setopt(c->h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	calls.setopt(c->h, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	calls.setopt(c->h, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	calls.setopt(c->h, CURLOPT_TIMEOUT_MS, (long)(ask->limit_ms ? ask->limit_ms : LIMIT_MS));
	calls.setopt(c->h, CURLOPT_WRITEFUNCTION, on_body);
	calls.setopt(c->h, CURLOPT_WRITEDATA, ret);
	calls.setopt(c->h, CURLOPT_HEADERFUNCTION, on_header);
	calls.setopt(c->h, CURLOPT_HEADERDATA, ret);
	calls.setopt(c->h, CURLOPT_NOPROGRESS, 0L);
	calls.setopt(c->h, CURLOPT_XFERINFOFUNCTION, on_progress);
	calls.setopt(c->h, CURLOPT_XFERINFODATA, ask);
	set_secrets(c);
}

static int explain(const struct client *c, const struct client_ask *ask, CURLcode code,
		   const struct client_answer *a, struct coati_error *err)
{
	const char *why = *c->problem ? c->problem : calls.text(code);

	if (a->body.failed)
		return coati_fail(err, -E2BIG, "%.100s: the answer is longer than %zu bytes",
				  ask->url, a->body.max);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return coati_fail(err, -ECANCELED, "%.100s: the request was given up", ask->url);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return coati_fail(err, -ETIMEDOUT, "%.100s: %s", ask->url, why);
	if (code == CURLE_PARTIAL_FILE || code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR)
		return coati_fail(err, -EMSGSIZE, "%.100s: %s", ask->url, why);
	return coati_fail(err, -ECONNREFUSED, "%.100s: %s", ask->url, why);
}

static int perform(struct client *c, const struct client_ask *ask, struct client_answer *ret,
		   struct coati_error *err)
{
	curl_off_t retry = 0;
	long status = 0;
	CURLcode code;

	*c->problem = 0;
	code = calls.perform(c->h);
	if (code != CURLE_OK)
		return explain(c, ask, code, ret, err);
	calls.getinfo(c->h, CURLINFO_RESPONSE_CODE, &status);
	if (calls.getinfo(c->h, CURLINFO_RETRY_AFTER, &retry) == CURLE_OK && retry > 0)
		ret->retry_after_s = retry > 86400 ? 86400 : (uint32_t)retry;
	ret->status = (uint32_t)status;
	return 0;
}

int coati_client_ask(struct client *c, const struct client_ask *ask, struct client_answer *ret,
		     struct coati_error *err)
{
	bool is_packed = ask->body && ask->gzip && coati_gzip_works();
	struct strbuf packed = STRBUF_INIT(BODY_MAX);
	struct curl_slist *headers;
	int r = is_packed ? make_body(ask, &packed, err) : 0, failed = 0;

	if (r < 0)
		return r;
	ret->status = ret->retry_after_s = 0;
	ret->date_s = 0;
	coati_strbuf_clear(&ret->body);
	set_request(c, ask, ret);
	headers = make_headers(c, ask, is_packed, &failed);
	calls.setopt(c->h, CURLOPT_HTTPHEADER, headers);
	if (ask->body) {
		size_t size = is_packed ? packed.len : ask->body_size;

		/* Where the answer does not come, libcurl repeats a request by itself, but only one
		 * on a connection that was used before: what it brought would count twice. */
		calls.setopt(c->h, CURLOPT_FRESH_CONNECT, 1L);
		calls.setopt(c->h, CURLOPT_FORBID_REUSE, 1L);
		calls.setopt(c->h, CURLOPT_POST, 1L);
		calls.setopt(c->h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
		calls.setopt(c->h, CURLOPT_POSTFIELDS, is_packed ? packed.text : ask->body);
	}
	r = failed ? coati_fail(err, failed, "no memory for a request") : perform(c, ask, ret, err);
	calls.free_all(headers);
	coati_strbuf_fini(&packed);
	return r;
}

#else

int coati_client_open(const struct secrets *secrets, struct client **ret, struct coati_error *err)
{
	return coati_fail(err, -EOPNOTSUPP, "this coati was built without libcurl");
}

void coati_client_close(struct client **c)
{
}

int coati_client_ask(struct client *c, const struct client_ask *ask, struct client_answer *ret,
		     struct coati_error *err)
{
	return coati_fail(err, -EOPNOTSUPP, "this coati was built without libcurl");
}

#endif

void coati_client_escape(struct strbuf *url, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-._~";

	for (; *text; text++)
		if (strchr(plain, *text))
			coati_strbuf_addc(url, *text);
		else
			coati_strbuf_printf(url, "%%%02X", (unsigned int)(unsigned char)*text);
}
