/* SPDX-License-Identifier: MIT */
/* Loaded objects come in, an array with tables goes out. */
#include "live/sampler/objects.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "live/sampler/objects-loader.h"
#include "unwind/table/build.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* What we have of an object that the loader shows. */
struct known {
	struct shown shown;
	struct table table;
	void *bytes; /* of the table; NULL: none */
	uint64_t size;
	uint32_t serial;
	bool is_over; /* there was no memory for it */
	bool is_there;
};

static struct {
	struct known **list;
	uint32_t len, cap, last_serial;
	uint64_t bytes;
	uint64_t adds, subs; /* of the loader when we last looked */
	uint64_t max_bytes;
	bool has_looked;
	_Atomic bool is_busy;
	bool is_shut;	 /* the loader must not be asked */
	bool is_crowded; /* there were threads at the last fork that may have been in the loader */
	bool at_fork;	 /* the handlers of fork() are there */
} all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of it */
/* the process that it belongs to; 0: not asked yet. Negative: the process that is taking it */
static _Atomic pid_t owner;

_Atomic uint32_t coati_sampler_threads;
void (*_Atomic coati_sampler_wait)(void);

/* glibc's, 2.32: false once there was another thread, also in the child of a fork. */
extern char __libc_single_threaded __attribute__((weak));
static pid_t born; /* the process that loaded us, or its child that was alone when it asked */

/* Before the constructor that starts a profile by the environment, whose thread asks at once. */
__attribute__((constructor(101))) static void know_process(void)
{
	born = getpid();
}

void coati_sampler_objects_begin(void)
{
	if (&__libc_single_threaded && __libc_single_threaded)
		born = getpid();
}

/* The child of a fork before which nothing was asked here, and where there may have been other
 * threads. */
static bool is_orphan(void)
{
	return getpid() != born && &__libc_single_threaded && !__libc_single_threaded;
}

/* ---- tables ---- */

/* On arm64 signal handlers return through the vDSO, which has no unwind data there: the place is
 * recognized by its instructions. The vDSO stays mapped as long as the process lives, so they can
 * be read in place. */
static bool is_vdso(const struct shown *s)
{
	return s->bias == getauxval(AT_SYSINFO_EHDR) && s->nr_code;
}

static void show_instructions(uint64_t bias, struct table_code *code)
{
	code->bytes = (const uint8_t *)(uintptr_t)(bias + code->start); /* NOLINT */
	code->nr_bytes = code->size;
}

/* @frame: a copy of its unwind data; NULL: it has none. */
static int build_table(struct known *k, const uint8_t *frame)
{
	const struct shown *s = &k->shown;
	struct table_input in = { .machine = MACHINE,
				  .nr_code = s->nr_code,
				  .nr_sections = frame != NULL };
	uint64_t entry = getauxval(AT_ENTRY) - s->bias;
	size_t size;
	int r;

	in.sections[0] = (struct cfi_section){ .bytes = frame,
					       .size = s->frame_end - s->frame,
					       .vaddr = s->frame,
					       .stops_at_end = true };
	for (uint32_t i = 0; i < s->nr_code; i++) {
		in.code[i] = (struct table_code){ .start = s->code[i],
						  .size = s->code_end[i] - s->code[i] };
		if (is_vdso(s))
			show_instructions(s->bias, &in.code[i]);
		if (entry - s->code[i] < in.code[i].size)
			in.entry = entry;
	}
	r = coati_table_build(&in, &k->bytes, &size);
	if (r < 0)
		return r;
	k->size = size;
	k->table = table_view(k->bytes);
	return 0;
}

static void drop_table(struct known *k)
{
	coati_free(k->bytes);
	k->bytes = NULL;
	k->size = 0;
}

static void make_table(struct known *k)
{
	uint8_t *frame = NULL;
	int r = coati_loader_copy(&k->shown, &frame);

	if (r == 0 || (r == -ENODATA && is_vdso(&k->shown)))
		r = build_table(k, frame);
	coati_free(frame);
	k->is_over = r == -ENOMEM;
	if (r == 0 && (all.bytes > all.max_bytes || k->size > all.max_bytes - all.bytes)) {
		k->is_over = true;
		r = -E2BIG;
	}
	if (r < 0) {
		drop_table(k);
		return;
	}
	all.bytes += k->size;
	k->serial = ++all.last_serial;
}

/* ---- all of them ---- */

static struct known *find_known(const struct shown *s)
{
	for (uint32_t i = 0; i < all.len; i++)
		if (all.list[i]->shown.id == s->id && all.list[i]->shown.bias == s->bias &&
		    !memcmp(&all.list[i]->shown, s, sizeof(*s)))
			return all.list[i];
	return NULL;
}

static struct known *add_known(const struct shown *s)
{
	struct known *k;

	if (all.len == all.cap) {
		uint32_t cap = all.cap ? 2 * all.cap : 64;
		void *grown = coati_realloc_array(all.list, cap, sizeof(*all.list));

		if (!grown)
			return NULL;
		all.list = grown;
		all.cap = cap;
	}
	k = coati_alloc(sizeof(*k));
	if (!k)
		return NULL;
	k->shown = *s;
	all.list[all.len++] = k;
	return k;
}

static int by_start(const void *a, const void *b)
{
	const struct sampler_object *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct sampler_objects *make_array(void)
{
	struct sampler_objects *o;
	size_t len = 0;

	for (uint32_t i = 0; i < all.len; i++)
		len += all.list[i]->is_there ? all.list[i]->shown.nr_code : 0;
	o = coati_alloc(sizeof(*o) + len * sizeof(o->list[0]));
	for (uint32_t i = 0; o && i < all.len; i++) {
		const struct known *k = all.list[i];

		for (uint32_t c = 0; k->is_there && c < k->shown.nr_code; c++)
			o->list[o->len++] =
				(struct sampler_object){ .start = k->shown.bias + k->shown.code[c],
							 .end = k->shown.bias +
								k->shown.code_end[c],
							 .bias = k->shown.bias,
							 .table = k->bytes ? &k->table : NULL,
							 .serial = k->serial };
	}
	if (o)
		qsort(o->list, o->len, sizeof(o->list[0]), by_start);
	return o;
}

static void wait_for_readers(void)
{
	void (*wait)(void) = atomic_load(&coati_sampler_wait);

	for (uint32_t i = 0; i < SAMPLER_STRIPES; i++)
		while (atomic_load(&coati_sampler_readers[i].nr))
			sched_yield();
	if (wait)
		wait();
}

static void forget_gone(void)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < all.len; i++) {
		struct known *k = all.list[i];

		if (k->is_there) {
			all.list[len++] = k;
			continue;
		}
		all.bytes -= k->size;
		drop_table(k);
		coati_free(k);
	}
	all.len = len;
}

static int publish(void)
{
	struct sampler_objects *o = make_array(), *old;

	if (!o)
		return -ENOMEM;
	o->serial = ++all.last_serial;
	old = atomic_exchange(&coati_sampler_objects, o);
	wait_for_readers();
	coati_free(old);
	forget_gone();
	return 0;
}

static int refresh(void)
{
	struct shown_list l = { .cap = 0 };
	int r = coati_loader_list(&l);

	for (uint32_t i = 0; i < all.len; i++)
		all.list[i]->is_there = false;
	for (uint32_t i = 0; r == 0 && i < l.len; i++) {
		struct known *k = find_known(&l.list[i]);

		bool is_new = !k;

		if (is_new)
			k = add_known(&l.list[i]);
		if (!k) {
			r = -ENOMEM;
			break;
		}
		k->is_there = true;
		if (is_new || k->is_over)
			make_table(k);
	}
	if (r == 0)
		r = publish();
	if (r == 0) {
		all.adds = l.adds;
		all.subs = l.subs;
		all.has_looked = true;
	}
	coati_free(l.list);
	return r;
}

/* ---- forks ---- */

static _Atomic bool is_held; /* a fork is under way: the gate is its */

/* Those of the sampler and the one that forks are no danger: the gate sees to it. */
static void before_fork(void)
{
	struct stat st;

	coati_loader_take();
	is_held = true;
	/* a directory has two links, and this one one more for each thread */
	all.is_crowded = stat("/proc/self/task", &st) < 0 ||
			 st.st_nlink > 3 + atomic_load(&coati_sampler_threads);
}

static void after_fork(void)
{
	is_held = false;
	coati_loader_give();
}

/* Nothing of the parent's that was under way. */
static void reset(bool is_shut)
{
	bool at_fork = all.at_fork;

	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_fetch_add(&coati_sampler_forks, 1);
	for (uint32_t i = 0; i < SAMPLER_STRIPES; i++)
		atomic_store(&coati_sampler_readers[i].nr, 0);
	if (all.is_busy) {
		/* its memory stays: it is unknown which part of it is whole */
		atomic_store(&coati_sampler_objects, NULL);
		memset(&all, 0, sizeof(all));
	}
	all.is_shut = is_shut;
	all.at_fork = at_fork;
}

void coati_sampler_objects_forget(void)
{
	if (!is_held)
		return;
	reset(all.is_shut || all.is_crowded);
	atomic_store(&owner, getpid());
	after_fork();
}

/* A child that was made just when the first one asked has handlers that came too late for it: the
 * lock may be that of a thread which is not here, and so may the loader's. */
static void take_lock(void)
{
	pid_t me = getpid(), was;

	while ((was = atomic_load(&owner)) != me) {
		if (was == -me) /* another thread is at it */
			sched_yield();
		else if (atomic_compare_exchange_strong(&owner, &was, was ? -me : me) && was) {
			reset(true);
			atomic_store(&owner, me);
		}
	}
	pthread_mutex_lock(&lock);
}

/* ---- asking for them ---- */

static bool is_shut(void)
{
	if (!all.at_fork) {
		all.at_fork = true; /* first: a child that has both would have them twice */
		if (pthread_atfork(before_fork, after_fork, coati_sampler_objects_forget))
			all.at_fork = false;
	}
	if (!all.has_looked && is_orphan())
		all.is_shut = true;
	return all.is_shut;
}

bool coati_sampler_objects_shut(void)
{
	bool shut;

	take_lock();
	shut = is_shut();
	pthread_mutex_unlock(&lock);
	return shut;
}

static int look_again(uint64_t max_bytes)
{
	struct shown_list l = { .cap = 0 };
	int r;

	if (is_shut())
		return 0;
	if (!max_bytes)
		max_bytes = all.max_bytes ? all.max_bytes : SAMPLER_TABLE_BYTES;
	coati_loader_count(&l);
	if (all.has_looked && l.adds == all.adds && l.subs == all.subs &&
	    max_bytes == all.max_bytes)
		return 0;
	all.is_busy = true;
	all.max_bytes = max_bytes;
	r = refresh();
	all.is_busy = false;
	return r < 0 ? r : 1;
}

int coati_sampler_objects_refresh(uint64_t max_bytes)
{
	int r;

	take_lock();
	r = look_again(max_bytes);
	pthread_mutex_unlock(&lock);
	return r;
}

int coati_sampler_objects_prepare(const char *who, enum coati_sampler_stacks stacks,
				  uint64_t max_bytes, bool *ret, struct coati_error *err)
{
	int r;

	*ret = false;
	if (stacks == COATI_SAMPLER_STACKS_POINTERS)
		return 0;
	max_bytes = max_bytes ? max_bytes : SAMPLER_TABLE_BYTES;
	r = coati_sampler_objects_refresh(max_bytes);
	*ret = coati_sampler_objects_stats().with > 0;
	if (*ret || stacks != COATI_SAMPLER_STACKS_TABLES)
		return 0;
	return coati_fail(
		err, r < 0 ? r : -ENODATA,
		"%s: no unwind table within %llu bytes for anything that is loaded; use frame "
		"pointers",
		who, (unsigned long long)max_bytes);
}

struct sampler_objects_stats coati_sampler_objects_stats(void)
{
	struct sampler_objects_stats s = { 0 };

	take_lock();
	s.bytes = all.bytes;
	s.is_shut = all.is_shut;
	for (uint32_t i = 0; i < all.len; i++) {
		const struct known *k = all.list[i];

		s.with += k->bytes != NULL;
		s.over += k->is_over;
		s.without += !k->bytes && !k->is_over && k->shown.nr_code;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

int coati_stacks_refresh(void)
{
	int r = coati_sampler_objects_refresh(0);

	return r < 0 ? r : 0;
}
