/* SPDX-License-Identifier: MIT */
/* Values of custom profiles come and go. */
#include "live/profiles/custom.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"

#define DEFAULT_VALUES 1048576u
#define MAX_VALUES     16777216u
#define FIRST_SLOTS    64u

/* Pages of the server that may not be there yet. */
static const char reserved[][16] = { "allocs",	  "block",	  "cmdline", "frames",
				     "goroutine", "heap",	  "mutex",   "profile",
				     "symbol",	  "threadcreate", "threads", "trace" };

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct coati_custom *first; /* this and the next under the lock above */
static bool has_atfork;

/* ---- values ---- */

static uint32_t home_of(const struct coati_custom *p, uint64_t value)
{
	return (uint32_t)(value * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (p->slots - 1);
}

/* Where @value is, or the free slot where it would be. */
static uint32_t slot_of(const struct coati_custom *p, uint64_t value)
{
	uint32_t at = home_of(p, value);

	while (p->values[at].value && p->values[at].value != value)
		at = (at + 1) & (p->slots - 1);
	return at;
}

/* Twice as many slots. */
static int grow(struct coati_custom *p)
{
	struct custom_value *old = p->values, *values;
	uint32_t nr = p->slots, slots = nr ? 2 * nr : FIRST_SLOTS;

	values = coati_alloc_array(slots, sizeof(*values));
	if (!values)
		return -ENOMEM;
	p->values = values;
	p->slots = slots;
	for (uint32_t i = 0; i < nr; i++)
		if (old[i].value)
			values[slot_of(p, old[i].value)] = old[i];
	coati_free(old);
	return 0;
}

/* Free slot @at; later entries of the same chain move up. */
static void clear_slot(struct coati_custom *p, uint32_t at)
{
	uint32_t mask = p->slots - 1, next = at;

	p->values[at].value = 0;
	while (p->values[next = (next + 1) & mask].value) {
		uint32_t home = home_of(p, p->values[next].value);

		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		p->values[at] = p->values[next];
		p->values[next].value = 0;
		at = next;
	}
}

static int put_locked(struct coati_custom *p, uint64_t value, const struct store_trace *trace)
{
	const double one[STORE_VALUES] = { 1 };
	uint32_t at;
	int r = 0;

	if (p->slots && p->values[slot_of(p, value)].value)
		return -EEXIST;
	if (p->len == p->max_values) {
		p->refused++;
		return -ENOSPC;
	}
	if (2 * p->len >= p->slots)
		r = grow(p);
	if (r < 0)
		return r;
	at = slot_of(p, value);
	p->values[at] = (struct custom_value){ value, coati_store_add(&p->store, trace, one) };
	p->len++;
	return 0;
}

int coati_custom_put(struct coati_custom *p, const void *value, const struct store_caller *caller)
{
	struct store_trace trace;
	int r;

	if (!value)
		return -EINVAL;
	coati_store_trace(&p->store, caller, &trace);
	pthread_mutex_lock(&p->store.lock);
	r = put_locked(p, (uint64_t)(uintptr_t)value, &trace);
	pthread_mutex_unlock(&p->store.lock);
	return r;
}

int coati_custom_add(struct coati_custom *profile, const void *value, uint32_t skip)
{
	const struct store_caller caller = { __builtin_frame_address(0), skip };
	int r = coati_custom_put(profile, value, &caller);

	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is in use */
	return r;
}

int coati_custom_remove(struct coati_custom *profile, const void *value)
{
	const double less[STORE_VALUES] = { -1 };
	uint32_t at = 0;
	bool found;

	pthread_mutex_lock(&profile->store.lock);
	if (value && profile->slots)
		at = slot_of(profile, (uint64_t)(uintptr_t)value);
	found = value && profile->slots && profile->values[at].value;
	if (found) {
		coati_store_change(&profile->store, profile->values[at].stack, less);
		clear_slot(profile, at);
		profile->len--;
	}
	pthread_mutex_unlock(&profile->store.lock);
	return found ? 0 : -ENOENT;
}

uint64_t coati_custom_count(struct coati_custom *profile)
{
	uint64_t nr;

	pthread_mutex_lock(&profile->store.lock);
	nr = profile->len;
	pthread_mutex_unlock(&profile->store.lock);
	return nr;
}

/* ---- profiles ---- */

static uint64_t count_page(const struct live_page *page)
{
	return coati_custom_count((struct coati_custom *)(uintptr_t)page);
}

/* The child has whole tables and free locks. */
static void before_fork(void)
{
	pthread_mutex_lock(&making);
	for (struct coati_custom *p = first; p; p = p->next)
		pthread_mutex_lock(&p->store.lock);
}

static void after_fork(void)
{
	for (struct coati_custom *p = first; p; p = p->next)
		pthread_mutex_unlock(&p->store.lock);
	pthread_mutex_unlock(&making);
}

static bool is_name(const char *name)
{
	size_t size = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					  "0123456789-_./")
			   : 0;

	return size && size <= COATI_CUSTOM_NAME_BYTES && !name[size];
}

static bool is_taken(const char *name)
{
	const struct live_page *page;

	for (uint32_t i = 0; (page = coati_page_at(i)); i++)
		if (!strcmp(page->name, name))
			return true;
	return false;
}

static bool is_reserved(const char *name)
{
	for (size_t i = 0; name && i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(reserved[i], name))
			return true;
	return false;
}

static int make(const char *name, const struct coati_custom_opts *o, struct coati_custom **ret,
		struct coati_error *err)
{
	struct coati_custom *p = coati_alloc(sizeof(*p));
	int r = p ? 0 : coati_fail(err, -ENOMEM, "profile %s: no memory", name);

	if (r == 0)
		r = coati_store_open(&p->store, err);
	if (r == 0)
		r = coati_store_prepare(&p->store, name, o->stacks, o->max_table_bytes, err);
	if (r == 0 && !has_atfork && pthread_atfork(before_fork, after_fork, after_fork))
		r = coati_fail(err, -ENOMEM, "profile %s: no memory to watch forks", name);
	has_atfork = has_atfork || r == 0;
	if (r < 0) {
		if (p)
			coati_store_close(&p->store);
		coati_free(p);
		return r;
	}
	memcpy(p->name, name, strlen(name));
	pthread_mutex_init(&p->store.lock, NULL);
	p->max_values = o->max_values ? o->max_values : DEFAULT_VALUES;
	p->page = (struct live_page){ .name = p->name,
				      .what = "a profile of the program's own",
				      .make = coati_custom_make_page,
				      .count = count_page };
	*ret = p;
	return 0;
}

int coati_custom_open(const char *name, const struct coati_custom_opts *opts,
		      struct coati_custom **ret, struct coati_error *err)
{
	struct coati_custom_opts o;
	struct coati_custom *p;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || o.stacks > COATI_SAMPLER_STACKS_TABLES || o.max_values > MAX_VALUES)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "custom profile: invalid options: max_values is at most %u",
				  MAX_VALUES);
	if (!is_name(name))
		return coati_fail(err, -EINVAL,
				  "custom profile: a name has 1 to %u letters, digits and -_./",
				  COATI_CUSTOM_NAME_BYTES);
	pthread_mutex_lock(&making);
	if (is_taken(name))
		r = coati_fail(err, -EEXIST, "profile %s exists already; take another name", name);
	if (r == 0)
		r = make(name, &o, &p, err);
	if (r == 0 && !coati_page_provide(&p->page)) {
		r = coati_fail(err, -ENOSPC, "profile %s: there are too many profiles", name);
		coati_store_close(&p->store);
		coati_free(p);
	} else if (r == 0) {
		p->next = first;
		first = p;
		*ret = p;
	}
	pthread_mutex_unlock(&making);
	return r;
}

int coati_custom_new(const char *name, const struct coati_custom_opts *opts,
		     struct coati_custom **ret, struct coati_error *err)
{
	if (is_reserved(name))
		return coati_fail(err, -EEXIST,
				  "profile %s is one of the library; take another name", name);
	return coati_custom_open(name, opts, ret, err);
}
