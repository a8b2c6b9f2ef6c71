/* SPDX-License-Identifier: MIT */
/* Labels of a thread: scopes, limits, misuse, hand-over, and a model beside them. */
#include "lib/sanitizer.h"
#include "lib/test.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#include <coati/live.h>

#include "base/alloc.h"
#include "live/labels.h"
#include "live/sampler/stack.h"

static struct coati_label_key tenant = COATI_LABEL_KEY("tenant");
static struct coati_label_key route = COATI_LABEL_KEY("route");

/* "key=value " of each label, in a buffer that the next call overwrites. */
static const char *shown(void)
{
	static _Thread_local char text[4096];
	static _Thread_local struct coati_labels labels; /* a small frame: see longjmp below */
	struct coati_label_item label;
	uint32_t pos = 0;
	int used = 0, r;

	text[0] = 0;
	coati_labels_snapshot(&labels);
	while ((r = coati_labels_next(&labels, &pos, &label)) > 0)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s=%.*s ", label.key,
				 (int)label.size, label.value);
	CHECK_INT(r, ==, 0);
	return text;
}

static struct coati_label_stats stats(void)
{
	struct coati_label_stats s = { .size = sizeof(s) };

	coati_labels_stats(&s);
	return s;
}

TEST(labels_of_a_thread_that_set_none_are_empty_and_cost_no_memory)
{
	uint64_t before = coati_alloc_count();

	CHECK_STR(shown(), "");
	CHECK_U64(coati_alloc_count(), ==, before);
	CHECK_INT(stats().published, ==, 0);
	CHECK(!otel_thread_ctx_v1);
}

TEST(labels_of_a_scope_end_with_it_and_the_ones_around_come_back)
{
	struct coati_label_scope outer = coati_label_begin(&tenant, "acme");
	struct coati_label_scope inner;

	CHECK_STR(shown(), "tenant=acme ");
	inner = coati_label_begin(&tenant, "globex");
	CHECK_STR(shown(), "tenant=globex ");
	coati_label_end(&inner);
	CHECK_STR(shown(), "tenant=acme ");
	inner = coati_label_begin_bytes(&route, "/cart?x", 5);
	CHECK_STR(shown(), "tenant=acme route=/cart ");
	coati_label_end(&inner);
	coati_label_end(&outer);
	CHECK_STR(shown(), "");
	CHECK_U64(stats().misused, ==, 0);
}

static int serve(int early)
{
	COATI_LABEL("tenant", "acme");
	for (int i = 0; i < 3; i++) {
		COATI_LABEL("route", i ? "/b" : "/a");
		CHECK_STR(shown(), i ? "tenant=acme route=/b " : "tenant=acme route=/a ");
		if (early && i == 1)
			return i;
		if (i == 0)
			continue;
	}
	CHECK_STR(shown(), "tenant=acme ");
	return -1;
}

TEST(labels_of_a_block_end_however_it_is_left)
{
	CHECK_INT(serve(0), ==, -1);
	CHECK_STR(shown(), "");
	CHECK_INT(serve(1), ==, 1);
	CHECK_STR(shown(), "");
}

TEST(labels_set_without_a_scope_last_until_the_one_around_ends)
{
	struct coati_label_scope scope;

	CHECK_OK(coati_label_set(&tenant, "acme"));
	CHECK_OK(coati_label_set(&route, "/"));
	CHECK_OK(coati_label_set(&tenant, "globex"));
	CHECK_STR(shown(), "route=/ tenant=globex ");
	scope = coati_label_begin(&route, "/cart");
	CHECK_OK(coati_label_set(&tenant, "initech"));
	CHECK_OK(coati_label_set(&route, "/pay"));
	CHECK_STR(shown(), "tenant=initech route=/pay ");
	coati_label_end(&scope);
	CHECK_STR(shown(), "route=/ tenant=globex ");
}

TEST(labels_taken_away_in_a_scope_come_back_at_its_end)
{
	struct coati_label_scope scope;

	CHECK_OK(coati_label_set(&tenant, "acme"));
	scope = coati_label_begin(&route, "/");
	CHECK_OK(coati_label_unset(&tenant));
	CHECK_OK(coati_label_unset(&tenant));
	CHECK_OK(coati_label_unset(&route));
	CHECK_OK(coati_label_unset(&route));
	CHECK_STR(shown(), "");
	coati_label_end(&scope);
	CHECK_STR(shown(), "tenant=acme ");
	CHECK_OK(coati_label_unset(&tenant));
	CHECK_STR(shown(), "");
	scope = coati_label_begin(&route, NULL);
	CHECK_STR(shown(), "");
	coati_label_end(&scope);
}

TEST(labels_set_again_and_again_take_no_more_room)
{
	char value[16];

	for (int i = 0; i < 10000; i++) {
		snprintf(value, sizeof(value), "%d", i);
		CHECK_OK(coati_label_set(i % 2 ? &tenant : &route, value));
	}
	CHECK_STR(shown(), "route=9998 tenant=9999 ");
	CHECK_U64(stats().over_size, ==, 0);
}

TEST(labels_over_the_size_are_left_out_and_counted_and_scopes_stay_balanced)
{
	struct coati_label_scope scopes[COATI_LABEL_DEPTH + 6];
	char value[101];
	uint64_t fit = COATI_LABELS_BYTES / (sizeof(value) - 1 + 2);

	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = 0;
	for (size_t i = 0; i < COATI_LABEL_DEPTH + 6; i++)
		scopes[i] = coati_label_begin(&tenant, value);
	CHECK_U64(stats().over_size, ==, COATI_LABEL_DEPTH + 6 - fit);
	CHECK_ERR(coati_label_set(&route, value), -E2BIG);
	for (size_t i = COATI_LABEL_DEPTH + 6; i-- > 0;)
		coati_label_end(&scopes[i]);
	CHECK_STR(shown(), "");
	CHECK_U64(stats().misused, ==, 0);
	CHECK_OK(coati_label_set(&route, value));
}

TEST(labels_fill_their_bytes_to_the_last)
{
	struct coati_labels all;
	char value[COATI_LABEL_VALUE_BYTES + 1];

	memset(value, 'x', sizeof(value));
	value[255] = 0;
	coati_label_begin_bytes(&tenant, value, 255);
	coati_label_begin_bytes(&tenant, value, 255);
	coati_label_begin_bytes(&route, value, COATI_LABELS_BYTES - 2 * 257 - 2 + 1);
	CHECK_U64(stats().over_size, ==, 1);
	coati_label_begin_bytes(&route, value, COATI_LABELS_BYTES - 2 * 257 - 2);
	CHECK_U64(stats().over_size, ==, 1);
	coati_labels_snapshot(&all);
	CHECK_U64(all.size, ==, COATI_LABELS_BYTES - 257);
}

TEST(labels_too_long_are_cut_between_two_characters)
{
	char value[400];
	struct coati_labels all;
	struct coati_label_item label;
	uint32_t pos = 0;

	memset(value, 'x', sizeof(value));
	memcpy(value + 253, "\xe2\x82\xac", 3); /* a euro sign over the limit */
	coati_label_begin_bytes(&tenant, value, sizeof(value));
	coati_labels_snapshot(&all);
	CHECK_INT(coati_labels_next(&all, &pos, &label), ==, 1);
	CHECK_U64(label.size, ==, 253);
	memset(value, '\x80', sizeof(value)); /* no text at all */
	CHECK_OK(coati_label_set(&route, "x"));
	coati_label_begin_bytes(&route, value, sizeof(value));
	CHECK_U64(stats().cut_values, ==, 2);
}

TEST(labels_keys_of_the_same_name_are_one_and_the_257th_is_refused)
{
	static struct coati_label_key keys[COATI_LABEL_KEYS + 1],
		again = COATI_LABEL_KEY("k7"), empty = COATI_LABEL_KEY(""), none = { NULL, 0, 0 },
		longer;
	static char names[COATI_LABEL_KEYS + 1][8];
	char name[COATI_LABEL_KEY_BYTES + 2];
	struct coati_label_scope scope;

	for (int i = 0; i <= COATI_LABEL_KEYS; i++) {
		snprintf(names[i], sizeof(names[i]), "k%d", i);
		keys[i].name = names[i];
		scope = coati_label_begin(&keys[i], "v");
		coati_label_end(&scope);
	}
	CHECK_U64(stats().keys, ==, COATI_LABEL_KEYS);
	CHECK_U64(stats().refused_keys, ==, 1);
	CHECK_OK(coati_label_set(&again, "v"));
	CHECK_STR(shown(), "k7=v ");
	CHECK_U64(again.id, ==, keys[7].id);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	longer.name = name;
	CHECK_ERR(coati_label_set(&longer, "v"), -ENOSPC);
	CHECK_ERR(coati_label_set(&empty, "v"), -ENOSPC);
	CHECK_ERR(coati_label_set(&none, "v"), -ENOSPC);
	CHECK_ERR(coati_label_set(&keys[COATI_LABEL_KEYS], "v"), -ENOSPC);
	CHECK_U64(stats().refused_keys, ==, 5);
}

TEST(labels_scopes_ended_twice_or_after_the_one_around_them_are_counted_and_left_alone)
{
	struct coati_label_scope outer = coati_label_begin(&tenant, "acme");
	struct coati_label_scope inner = coati_label_begin(&route, "/a"), other;

	coati_label_end(&inner);
	coati_label_end(&inner);
	CHECK_U64(stats().misused, ==, 1);
	CHECK_STR(shown(), "tenant=acme ");
	other = coati_label_begin(&route, "/longer-than-before");
	coati_label_end(&inner); /* same depth, another scope */
	CHECK_U64(stats().misused, ==, 2);
	CHECK_STR(shown(), "tenant=acme route=/longer-than-before ");
	coati_label_end(&outer); /* left over by longjmp() */
	CHECK_STR(shown(), "");
	coati_label_end(&other);
	CHECK_U64(stats().misused, ==, 3);
}

static void *end_scope(void *scope)
{
	coati_label_end(scope);
	coati_label_set(&route, "/mine");
	coati_label_end(scope);
	return NULL;
}

TEST(labels_scope_of_another_thread_is_left_alone_and_counted)
{
	struct coati_label_scope scope = coati_label_begin(&tenant, "acme");
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, end_scope, &scope), ==, 0);
	pthread_join(thread, NULL);
	CHECK_U64(stats().misused, ==, 2);
	CHECK_STR(shown(), "tenant=acme ");
}

static void *show_labels(void *ret)
{
	snprintf(ret, 100, "%s", shown());
	return NULL;
}

TEST(labels_are_handed_to_another_thread_and_taken_back)
{
	struct coati_labels task;
	struct coati_label_scope scope = coati_label_begin(&tenant, "acme");

	coati_labels_snapshot(&task);
	coati_label_end(&scope);
	CHECK_OK(coati_label_set(&tenant, "none"));
	CHECK_OK(coati_label_set(&route, "/idle"));
	scope = coati_labels_adopt(&task);
	CHECK_STR(shown(), "route=/idle tenant=acme ");
	coati_label_end(&scope);
	CHECK_STR(shown(), "tenant=none route=/idle ");
}

TEST(labels_go_with_a_thread_that_is_started_through_us)
{
	struct coati_label_scope scope = coati_label_begin(&tenant, "acme");
	char plain[100], ours[100], later[100];
	pthread_t threads[3];

	CHECK_INT(pthread_create(&threads[0], NULL, show_labels, plain), ==, 0);
	CHECK_INT(coati_pthread_create(&threads[1], NULL, show_labels, ours), ==, 0);
	coati_label_end(&scope);
	CHECK_INT(coati_pthread_create(&threads[2], NULL, show_labels, later), ==, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_STR(plain, "");
	CHECK_STR(ours, "tenant=acme ");
	CHECK_STR(later, "");
}

TEST(labels_that_find_no_memory_are_counted_and_the_program_goes_on)
{
	struct coati_label_scope scope;
	char text[100];
	pthread_t thread;

	coati_alloc_fail_after(0);
	scope = coati_label_begin(&tenant, "acme");
	coati_label_end(&scope);
	CHECK_ERR(coati_label_set(&tenant, "acme"), -ENOMEM);
	CHECK_U64(stats().no_memory, ==, 2);
	coati_alloc_fail_after(1); /* the thread, but not the key */
	scope = coati_label_begin(&tenant, "acme");
	CHECK_STR(shown(), "");
	coati_label_end(&scope);
	CHECK_U64(stats().no_memory, ==, 3);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_OK(coati_label_set(&tenant, "acme"));
	coati_alloc_fail_after(0);
	CHECK_INT(coati_pthread_create(&thread, NULL, show_labels, text), ==, 0);
	pthread_join(thread, NULL);
	CHECK_STR(text, "");
	CHECK_U64(stats().no_memory, ==, 4);
	CHECK_U64(stats().misused, ==, 0);
}

TEST(labels_of_every_short_length_and_of_random_bytes_are_walked_or_refused)
{
	struct coati_labels all, some;
	struct coati_label_item label;
	uint32_t pos;
	int r;

	CHECK_OK(coati_label_set(&tenant, "acme"));
	CHECK_OK(coati_label_set(&route, "/cart"));
	coati_labels_snapshot(&all);
	for (uint32_t size = 0; size <= all.size; size++) {
		some = all;
		some.size = size;
		for (pos = 0; (r = coati_labels_next(&some, &pos, &label)) > 0;)
			CHECK(label.value + label.size <= (const char *)some.bytes + size);
		CHECK_INT(r, ==, size == 0 || size == 6 || size == all.size ? 0 : -EBADMSG);
	}
	for (int i = 0; i < 2000; i++) {
		for (size_t b = 0; b < sizeof(some.bytes); b++)
			some.bytes[b] = (uint8_t)(test_random() % 4);
		some.size = (uint32_t)(test_random() % (COATI_LABELS_BYTES + 2));
		for (pos = 0; (r = coati_labels_next(&some, &pos, &label)) > 0;)
			CHECK(label.value + label.size <= (const char *)some.bytes + some.size);
		coati_labels_adopt(&some);
		shown();
	}
	pos = COATI_LABELS_BYTES + 1;
	CHECK_ERR(coati_labels_next(&all, &pos, &label), -EBADMSG);
}

/* ---- beside a model ---- */

#define KEYS  5
#define DEPTH 6

struct model {
	char values[DEPTH + 1][KEYS][8];
	struct coati_label_scope scopes[DEPTH];
	int depth;
};

static void check_model(const struct model *m)
{
	struct coati_labels labels;
	struct coati_label_item label;
	uint32_t pos = 0;
	int found = 0, there = 0;

	coati_labels_snapshot(&labels);
	while (coati_labels_next(&labels, &pos, &label) > 0) {
		const char *value = m->values[m->depth][label.key[1] - '0'];

		CHECK_U64(label.size, ==, strlen(value));
		CHECK_MEM(label.value, value, label.size);
		found++;
	}
	for (int k = 0; k < KEYS; k++)
		there += m->values[m->depth][k][0] != 0;
	CHECK_INT(found, ==, there);
}

static void step_model(struct model *m, struct coati_label_key *keys)
{
	int k = (int)(test_random() % KEYS), what = (int)(test_random() % 5);
	char value[8] = { 0 };

	memset(value, 'a' + (int)(test_random() % 26), 1 + test_random() % 6);
	if (what == 0 && m->depth < DEPTH) {
		m->scopes[m->depth] = coati_label_begin(&keys[k], value);
		memcpy(m->values[m->depth + 1], m->values[m->depth], sizeof(m->values[0]));
		memcpy(m->values[++m->depth][k], value, sizeof(value));
	} else if (what == 1 && m->depth) {
		m->depth -= 1 + (int)(test_random() % (uint64_t)m->depth); /* maybe more than one */
		coati_label_end(&m->scopes[m->depth]);
	} else if (what == 2) {
		CHECK_OK(coati_label_unset(&keys[k]));
		m->values[m->depth][k][0] = 0;
	} else {
		CHECK_OK(coati_label_set(&keys[k], value));
		memcpy(m->values[m->depth][k], value, sizeof(value));
	}
}

TEST(labels_do_what_a_model_of_them_does)
{
	static struct coati_label_key keys[KEYS] = { COATI_LABEL_KEY("k0"), COATI_LABEL_KEY("k1"),
						     COATI_LABEL_KEY("k2"), COATI_LABEL_KEY("k3"),
						     COATI_LABEL_KEY("k4") };
	struct model m = { 0 };

	for (unsigned int i = 0; i < test_rounds(20000); i++) {
		step_model(&m, keys);
		check_model(&m);
	}
	CHECK_U64(stats().misused + stats().over_size, ==, 0);
}

/* ---- longjmp ---- */

static jmp_buf back;
static volatile bool may_jump = true;

static __attribute__((noinline)) void go_deep(int n)
{
	char room[256];

	COATI_LABEL("deep", "yes");
	__asm__ volatile("" ::"r"(room) : "memory");
	CHECK_HAS(shown(), "deep=yes ");
	if (n)
		go_deep(n - 1);
	else if (may_jump)
		longjmp(back, 1);
	__asm__ volatile("" ::"r"(room) : "memory"); /* or it were a jump */
}

static __attribute__((noinline)) void jump_out(int depth)
{
	if (!setjmp(back))
		go_deep(depth);
}

/* 500 times 11 scopes: more than the thread has room for, were they kept. */
TEST(labels_that_longjmp_left_are_gone_and_take_no_room)
{
	for (int i = 0; i < 500; i++) {
		COATI_LABEL("outer", "stays");
		jump_out(10);
		CHECK_STR(shown(), "outer=stays ");
	}
	CHECK_STR(shown(), "");
	for (int i = 0; i < 500; i++) { /* without a scope around them */
		jump_out(10);
		CHECK_STR(shown(), "");
	}
	jump_out(10);
	CHECK_OK(coati_label_set(&tenant, "acme")); /* not in a scope that is over */
	jump_out(10);
	CHECK_STR(shown(), "tenant=acme ");
	CHECK_U64(stats().over_size, ==, 0);
	CHECK_U64(stats().misused, ==, 0);
}

/* In the function that called setjmp(): the block is entered again with its old label. */
TEST(labels_of_a_block_that_longjmp_left_end_when_it_is_entered_again)
{
	for (volatile int i = 0; i < 200; i++) {
		if (!setjmp(back)) {
			COATI_LABEL("first", "a");
			COATI_LABEL("second", "b");
			CHECK_STR(shown(), "first=a second=b ");
			go_deep(3);
		}
	}
	CHECK_U64(stats().over_size, ==, 0);
}

/* Functions that are called later cover the variables: their bytes are others. */
static __attribute__((noinline)) const char *shown_from_below(int n)
{
	volatile char room[512];
	const char *text;

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (char)n;
	text = n ? shown_from_below(n - 1) : shown();
	room[0] = 1; /* or it were a jump */
	return text;
}

TEST(labels_that_longjmp_left_are_gone_for_functions_that_are_called_later)
{
	jump_out(10);
	CHECK_STR(shown_from_below(40), "");
	CHECK_U64(stats().misused, ==, 0);
}

static __attribute__((noinline)) struct coati_label_scope begin_for_caller(void)
{
	char room[1024];
	struct coati_label_scope scope;

	__asm__ volatile("" ::"r"(room) : "memory");
	scope = coati_label_begin(&tenant, "acme");
	__asm__ volatile("" ::"r"(room) : "memory");
	return scope;
}

TEST(labels_of_a_scope_without_a_variable_outlive_the_function_that_began_them)
{
	struct coati_label_scope scope = begin_for_caller();

	COATI_LABEL("route", "/");
	CHECK_STR(shown(), "tenant=acme route=/ ");
	coati_label_end(&scope);
	CHECK_STR(shown(), "");
}

static volatile sig_atomic_t bytes_seen;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct coati_labels labels;

	(void)sig;
	(void)info;
	coati_labels_read(coati_sampler_sp(context), &labels);
	bytes_seen = (int)labels.size;
}

/* On a stack of its own, which says nothing about the one that was interrupted. */
TEST(labels_that_longjmp_left_are_not_seen_by_signal_handlers)
{
	static char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	CHECK_OK(sigaltstack(&stack, NULL));
	CHECK_OK(sigaction(SIGUSR1, &act, NULL));
	{
		COATI_LABEL("outer", "stays");
		raise(SIGUSR1);
		CHECK_INT(bytes_seen, ==, 7); /* two bytes and "stays" */
		jump_out(10);
		raise(SIGUSR1);
		CHECK_INT(bytes_seen, ==, 7);
	}
	raise(SIGUSR1);
	CHECK_INT(bytes_seen, ==, 0);
	stack.ss_flags = SS_DISABLE;
	CHECK_OK(sigaltstack(&stack, NULL));
}

/* A coroutine runs on other memory: nobody's labels are taken for left. */
static ucontext_t main_context, coroutine;

static void run_coroutine(void)
{
	COATI_LABEL("inside", "yes");
	swapcontext(&coroutine, &main_context);
}

TEST(labels_of_coroutines_and_of_who_runs_them_are_not_taken_for_left)
{
	static char stack[65536];

	CHECK_OK(getcontext(&coroutine));
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, run_coroutine, 0);
	COATI_LABEL("outer", "yes");
	CHECK_OK(swapcontext(&main_context, &coroutine));
	CHECK_STR(shown(), "outer=yes inside=yes ");
	CHECK_OK(swapcontext(&main_context, &coroutine));
	CHECK_STR(shown(), "outer=yes ");
	CHECK_U64(stats().misused, ==, 0);
}

/* ---- threads that exit ---- */

static struct {
	pthread_key_t key;
	int rounds, labeled;
} last_words;

/* Again in every round, as destructors of others may. */
static void say_last_words(void *ctx)
{
	last_words.rounds++;
	coati_label_set(&tenant, "late");
	last_words.labeled += shown()[0] != '\0';
	pthread_setspecific(last_words.key, ctx);
}

static void *exits_with_last_words(void *ctx)
{
	pthread_setspecific(last_words.key, ctx);
	return NULL;
}

/* What is set in the last round of destructors would stay for ever: it is refused, and counted. */
TEST(labels_that_are_set_while_a_thread_exits_leave_nothing)
{
	pthread_t thread;

#ifdef UNDER_TSAN
	test_skip("TSan is done with a thread before its last destructors");
#endif
	CHECK_OK(coati_label_set(&tenant, "acme")); /* its key comes first, and so its destructor */
	CHECK_INT(pthread_key_create(&last_words.key, say_last_words), ==, 0);
	CHECK_INT(pthread_create(&thread, NULL, exits_with_last_words, &last_words), ==, 0);
	pthread_join(thread, NULL);
	CHECK_INT(last_words.rounds, ==, PTHREAD_DESTRUCTOR_ITERATIONS);
	CHECK_INT(last_words.labeled, ==, PTHREAD_DESTRUCTOR_ITERATIONS - 1);
	CHECK_U64(stats().no_memory, ==, 1);
	CHECK_STR(shown(), "tenant=acme ");
}
