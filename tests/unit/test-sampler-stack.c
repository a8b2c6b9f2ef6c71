/* SPDX-License-Identifier: MIT */
/* Stacks as a signal handler sees them, against what the functions on them wrote down; and the
 * objects that the tables are of, as they come and go. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <coati/error.h>

#include "base/alloc.h"
#include "live/sampler/sampler.h"
#include "lib/sanitizer.h"
#include "lib/test.h"
#include "unit/sampler-frames.h"

#define TABLE_BYTES (UINT64_C(64) << 20)

static struct walk_cache cache;

/* What the handler found. */
static struct {
	uint64_t frames[256], by_full[256];
	uint32_t len, full_len, max;
	bool cut, full_cut;
	bool is_common; /* the way for code that has common rules alone was enough */
} seen;

static void walk_here(int sig, siginfo_t *info, void *context)
{
	static struct sampler_scratch fast = { .cache = &cache }, full = { .is_full = true };
	struct sampler_limits l = { seen.frames, seen.max, true };
	const struct sampler_objects *o = atomic_load(&coati_sampler_objects);

	(void)sig;
	(void)info;
	fast.walk.frame.pc = UINT64_MAX;
	seen.len = coati_sampler_walk_tables(context, o, &fast, &l, &seen.cut);
	seen.is_common = fast.walk.frame.pc == UINT64_MAX;
	l.frames = seen.by_full;
	seen.full_len = coati_sampler_walk_tables(context, o, &full, &l, &seen.full_cut);
}

static void raise_again(int sig)
{
	(void)sig;
	raise(SIGUSR1);
}

static void raise_signal(void *ctx)
{
	raise(*(int *)ctx);
}

static void prepare(uint32_t max, int flags)
{
	struct sigaction act = { .sa_sigaction = walk_here, .sa_flags = SA_SIGINFO | flags };
	struct sigaction again = { .sa_handler = raise_again, .sa_flags = flags };

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
	test_skip("TSan delivers signals late, with other registers");
#endif
#endif
	CHECK_INT(coati_sampler_objects_refresh(TABLE_BYTES), >=, 0);
	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	CHECK_OK(sigaction(SIGUSR2, &again, NULL));
	seen.max = max;
}

/* What was written down, innermost first, is in what was seen, without a gap. Where it begins is
 * returned. */
static uint32_t check_frames(const struct frames *f)
{
	uint32_t at = 0;

	CHECK_U64(f->len, >, 0);
	while (at < seen.len && seen.frames[at] != f->callers[f->len - 1])
		at++;
	CHECK_U64(at + f->len, <=, seen.len);
	for (uint32_t i = 0; i < f->len; i++)
		CHECK_U64(seen.frames[at + i], ==, f->callers[f->len - 1 - i]);
	CHECK_U64(seen.len, ==, seen.full_len);
	CHECK_MEM(seen.frames, seen.by_full, seen.len * sizeof(seen.frames[0]));
	CHECK_INT(seen.cut, ==, seen.full_cut);
	return at;
}

TEST(sampler_stack_by_tables_is_that_of_the_calls)
{
	int sig = SIGUSR1;

	prepare(256, 0);
	for (uint32_t depth = 0; depth < 20; depth++) {
		struct frames f = { .leaf = raise_signal, .ctx = &sig };

		coati_frames_down(&f, depth);
		check_frames(&f);
		CHECK(!seen.cut);
		/* several times as fast; sanitizers and other libraries of C have rarer rules */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(UNDER_SANITIZER)
		CHECK(seen.is_common);
#endif
	}
}

TEST(sampler_stack_goes_through_signals_and_alternate_stacks)
{
	static char room[65536];
	stack_t alternate = { .ss_sp = room, .ss_size = sizeof(room) }, old;
	struct frames f = { .leaf = raise_signal };
	int sig = SIGUSR2;
	uint32_t at;

	if (test_emulated())
		test_skip("the emulator returns from handlers by code of its own, in no file");
	prepare(256, SA_ONSTACK);
	CHECK_OK(sigaltstack(&alternate, &old));
	f.ctx = &sig;
	coati_frames_down(&f, 12);
	at = check_frames(&f);
	CHECK_U64(at, >, 3); /* the handler between, and raise() twice */
	CHECK(!seen.cut);
	CHECK_OK(sigaltstack(&old, NULL)); /* ASan has one of its own */
}

TEST(sampler_stack_that_is_too_deep_is_cut)
{
	int sig = SIGUSR1;

	for (uint32_t max = 1; max <= 8; max++) {
		struct frames f = { .leaf = raise_signal, .ctx = &sig };

		prepare(max, 0);
		coati_frames_down(&f, 20);
		CHECK_U64(seen.len, ==, max);
		CHECK(seen.cut && seen.full_cut);
		CHECK_MEM(seen.frames, seen.by_full, max * sizeof(seen.frames[0]));
	}
}

static void set_registers(ucontext_t *c, uint64_t pc, uint64_t sp, uint64_t fp)
{
#if defined(__x86_64__)
	c->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
	c->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	c->uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#else
	c->uc_mcontext.pc = pc;
	c->uc_mcontext.sp = sp;
	c->uc_mcontext.regs[29] = fp;
#endif
}

/* Registers that point nowhere, at the end of everything, at the last words before memory that is
 * not there, and at memory without an end. */
TEST(sampler_stack_reads_nothing_that_is_not_there)
{
	static struct sampler_scratch fast = { .cache = &cache }, full = { .is_full = true };
	const uint64_t code = (uint64_t)(uintptr_t)coati_frames_down + 4;
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)(uintptr_t)page;
	ucontext_t context = { 0 };
	uint64_t frames[64];
	struct sampler_limits l = { frames, 64, true };
	bool cut;

	prepare(64, 0);
	if (!coati_sampler_probe(at) || coati_sampler_probe(0))
		test_skip("memory cannot be asked for here");
	CHECK(page != MAP_FAILED);
	for (uint32_t i = 0; i < 4096 / 8; i++) {
		uint64_t word = i % 2 ? code : at + 8 * (uint64_t)(i + 2);

		memcpy(page + 8 * i, &word, 8);
	}
	CHECK_OK(munmap(page + 4096, 4096));
	const uint64_t values[] = { 0,
				    8,
				    at,
				    at + 4088,
				    at + 4096,
				    at - 8,
				    at + 4080,
				    UINT64_MAX,
				    UINT64_MAX - 7,
				    at + 1,
				    (uint64_t)1 << 47 };

	for (size_t pc = 0; pc < sizeof(values) / sizeof(values[0]) + 1; pc++)
		for (size_t sp = 0; sp < sizeof(values) / sizeof(values[0]); sp++)
			for (size_t fp = 0; fp < sizeof(values) / sizeof(values[0]); fp++) {
				const struct sampler_objects *o =
					atomic_load(&coati_sampler_objects);

				set_registers(&context, pc ? values[pc - 1] : code, values[sp],
					      values[fp]);
				CHECK_U64(coati_sampler_walk_tables(&context, o, &fast, &l, &cut),
					  <=, 64);
				CHECK_U64(coati_sampler_walk_tables(&context, o, &full, &l, &cut),
					  <=, 64);
				CHECK_U64(coati_sampler_walk(&context, frames, 64, true, &cut), <=,
					  64);
			}
	munmap(page, 4096);
}

/* ---- objects ---- */

static void *load_module(void)
{
	void *module = dlopen(COATI_SAMPLER_MODULE, RTLD_NOW);

	if (!module)
		test_skip("%s", dlerror());
	return module;
}

TEST(sampler_objects_follow_what_is_loaded)
{
	struct sampler_objects_stats before, with, after;
	const struct sampler_object *o;
	uint64_t addr;
	void *module;

	skip_where_the_loader_is_not_asked();
	CHECK_INT(coati_sampler_objects_refresh(TABLE_BYTES), ==, 1);
	CHECK_INT(coati_sampler_objects_refresh(TABLE_BYTES), ==, 0);
	before = coati_sampler_objects_stats();
	CHECK_U64(before.with, >, 1); /* the program and the C library */
	CHECK_U64(before.over, ==, 0);
	module = load_module();
	addr = (uint64_t)(uintptr_t)dlsym(module, "coati_frames_down");
	CHECK(!sampler_object_find(atomic_load(&coati_sampler_objects), addr));
	CHECK_INT(coati_sampler_objects_refresh(TABLE_BYTES), ==, 1);
	with = coati_sampler_objects_stats();
	o = sampler_object_find(atomic_load(&coati_sampler_objects), addr);
	CHECK(o && o->table);
	CHECK_U64(with.with, ==, before.with + 1);
	CHECK_U64(with.bytes, >, before.bytes);
	CHECK_OK(dlclose(module));
	CHECK_INT(coati_sampler_objects_refresh(TABLE_BYTES), ==, 1);
	after = coati_sampler_objects_stats();
	CHECK(!sampler_object_find(atomic_load(&coati_sampler_objects), addr));
	CHECK_U64(after.with, ==, before.with);
	CHECK_U64(after.bytes, ==, before.bytes);
}

TEST(sampler_stack_goes_through_a_module_and_back)
{
	struct frames inner = { .leaf = raise_signal };
	int sig = SIGUSR1;
	frames_down_fn down;
	void *module;

	module = load_module();
	down = (frames_down_fn)dlsym(module, "coati_frames_down");
	prepare(256, 0);
	inner.ctx = &sig;
	down(&inner, 10);
	check_frames(&inner);
	CHECK(!seen.cut);
}

TEST(sampler_objects_keep_to_their_memory)
{
	struct sampler_objects_stats few, none, all;

	skip_where_the_loader_is_not_asked();
	CHECK_INT(coati_sampler_objects_refresh(1), ==, 1);
	none = coati_sampler_objects_stats();
	CHECK_U64(none.with, ==, 0);
	CHECK_U64(none.over, >, 1);
	CHECK_U64(none.bytes, ==, 0);
	CHECK_INT(coati_sampler_objects_refresh(TABLE_BYTES), ==, 1);
	all = coati_sampler_objects_stats();
	CHECK_U64(all.with, ==, none.over);
	CHECK_INT(coati_sampler_objects_refresh(all.bytes - 1), ==, 1);
	few = coati_sampler_objects_stats();
	CHECK_U64(few.bytes, ==, all.bytes); /* what is there stays */
}

TEST(sampler_objects_live_without_memory)
{
	int r = -ENOMEM;

	skip_where_the_loader_is_not_asked();
	for (uint64_t n = 0; r < 0 && n < 100; n++) {
		coati_alloc_fail_after(n);
		r = coati_sampler_objects_refresh(TABLE_BYTES);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 1 || r == -ENOMEM);
	}
	CHECK_INT(r, ==, 1);
	/* a table that could not be made is made when there is memory again */
	CHECK_INT(coati_sampler_objects_refresh(2 * TABLE_BYTES), ==, 1);
	CHECK_U64(coati_sampler_objects_stats().over, ==, 0);
}
