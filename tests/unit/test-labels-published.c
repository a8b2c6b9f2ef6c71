/* SPDX-License-Identifier: MIT */
/* What others see of labels: signal handlers, profilers outside, children; and threads as they come
 * and go. */
#include "lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>

static struct coati_label_key tenant = COATI_LABEL_KEY("tenant");
static struct coati_label_key route = COATI_LABEL_KEY("route");

static struct coati_label_stats stats(void)
{
	struct coati_label_stats s = { .size = sizeof(s) };

	coati_labels_stats(&s);
	return s;
}

/* ---- the thread context ---- */

TEST(labels_lie_in_the_record_of_otep_4947)
{
	struct coati_label_scope scope;
	const uint8_t *record;
	uint16_t size;

	CHECK_OK(coati_label_set(&tenant, "acme"));
	scope = coati_label_begin(&route, "/");
	record = otel_thread_ctx_v1;
	CHECK(record && (uintptr_t)record % 2 == 0);
	memcpy(&size, record + 26, 2);
	CHECK_U64(size, ==, 9);
	for (int i = 0; i < 24; i++) /* no trace, no span */
		CHECK_INT(record[i], ==, 0);
	CHECK_INT(record[24], ==, 1);
	CHECK_MEM(record + 28,
		  "\x00\x04"
		  "acme"
		  "\x01\x01"
		  "/",
		  9);
	coati_label_end(&scope);
	memcpy(&size, record + 26, 2);
	CHECK_U64(size, ==, 6);
	CHECK_OK(coati_label_set(&tenant, "globex")); /* the other record */
	CHECK(otel_thread_ctx_v1 != record);
	CHECK_MEM((const uint8_t *)otel_thread_ctx_v1 + 28,
		  "\x00\x06"
		  "globex",
		  8);
}

/* ---- the process context ---- */

struct context {
	uint8_t *header;
	uint64_t time_ns;
	uint32_t size;
	const uint8_t *payload;
};

/* As a reader outside finds it: by name. */
static bool find_context(struct context *ret)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int found = 0;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[anon_shmem:OTEL_CTX]") && !strstr(line, "/memfd:OTEL_CTX") &&
		    !strstr(line, "[anon:OTEL_CTX]"))
			continue;
		found++;
		ret->header = (uint8_t *)(uintptr_t)strtoull(line, NULL, 16);
		CHECK_HAS(line, "rw-p");
	}
	fclose(maps);
	CHECK_INT(found, <=, 1);
	if (!found)
		return false;
	CHECK_MEM(ret->header, "OTEL_CTX", 8);
	CHECK_MEM(ret->header + 8, "\x02\0\0\0", 4);
	memcpy(&ret->size, ret->header + 12, 4);
	memcpy(&ret->time_ns, ret->header + 16, 8);
	memcpy(&ret->payload, ret->header + 24, 8);
	return true;
}

/* One protobuf field of @number with contents; NULL when there is none at the front. */
static const uint8_t *field(const uint8_t *p, const uint8_t *end, uint32_t number,
			    uint64_t *ret_size)
{
	uint64_t size = 0;

	if (p == end || *p++ != (number << 3 | 2))
		return NULL;
	for (int shift = 0;; shift += 7, p++) {
		CHECK(p < end);
		size |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p & 0x80))
			break;
	}
	CHECK_U64(size, <=, (uint64_t)(end - p - 1));
	*ret_size = size;
	return p + 1;
}

/* Field after field into each other: the last one is this text. */
static const uint8_t *check_text(const uint8_t *p, const uint8_t *end, const uint32_t *path,
				 const char *text)
{
	const uint8_t *at, *next;
	uint64_t size;

	at = field(p, end, path[0], &size);
	CHECK(at);
	next = at + size;
	for (path++; *path; path++) {
		at = field(at, at + size, *path, &size);
		CHECK(at);
	}
	CHECK_U64(size, ==, strlen(text));
	CHECK_MEM(at, text, size);
	return next;
}

TEST(labels_keys_are_in_the_process_context_of_otep_4719)
{
	static const uint32_t to_key[] = { 2, 1, 0 }, to_name[] = { 1, 1, 0 };
	const uint8_t *p, *end;
	struct context first, second;
	uint64_t size;

	CHECK_OK(coati_label_set(&tenant, "acme"));
	CHECK_INT(stats().published, ==, 1);
	CHECK(find_context(&first) && first.time_ns);
	CHECK_OK(coati_label_set(&route, "/"));
	CHECK(find_context(&second));
	CHECK(first.header == second.header && first.payload != second.payload);
	CHECK_U64(second.time_ns, >, first.time_ns);
	end = second.payload + second.size;
	p = field(second.payload, end, 1, &size); /* the resource */
	CHECK(p);
	CHECK_MEM(p + 4, "service.name", 12);
	p = check_text(p + size, end, to_key, "threadlocal.schema_version");
	CHECK_MEM(p - 14, "tlsdesc_v1_dev", 14);
	CHECK(check_text(p, end, to_key, "threadlocal.attribute_key_map") == end);
	p = field(p, end, 2, &size);
	p = field(p, end, 1, &size) + size;
	p = field(p, end, 2, &size); /* AnyValue */
	p = field(p, end, 5, &size); /* ArrayValue */
	p = check_text(p, end, to_name, "tenant");
	CHECK(check_text(p, end, to_name, "route") == end);
}

TEST(labels_all_256_keys_at_their_longest_fit_into_the_process_context)
{
	static struct coati_label_key keys[COATI_LABEL_KEYS];
	static char names[COATI_LABEL_KEYS][COATI_LABEL_KEY_BYTES + 1];
	struct context context;
	char service[4096];

	memset(service, 's', sizeof(service) - 1);
	service[sizeof(service) - 1] = 0;
	setenv("OTEL_SERVICE_NAME", service, 1);
	for (int i = 0; i < COATI_LABEL_KEYS; i++) {
		snprintf(names[i], sizeof(names[i]), "%0*d", COATI_LABEL_KEY_BYTES, i);
		keys[i].name = names[i];
		CHECK_OK(coati_label_set(&keys[i], ""));
	}
	CHECK(find_context(&context));
	CHECK_U64(context.size, >,
		  COATI_LABEL_KEYS * (COATI_LABEL_KEY_BYTES + 4) + sizeof(service) - 1);
	CHECK_MEM(context.payload + context.size - COATI_LABEL_KEY_BYTES, names[255],
		  COATI_LABEL_KEY_BYTES);
}

/* Another library's: the same name, other bytes. */
TEST(labels_leave_a_process_context_alone_that_somebody_else_published)
{
	int fd = memfd_create("OTEL_CTX", 0);

	CHECK_OK(fd);
	CHECK_OK(ftruncate(fd, 4096));
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	CHECK_OK(coati_label_set(&tenant, "acme"));
	CHECK_INT(stats().published, ==, -EEXIST);
}

static void check_child(void)
{
	struct context context;
	struct coati_labels labels;

	coati_labels_snapshot(&labels);
	CHECK_U64(labels.size, ==, 6);
	CHECK(find_context(&context) && context.time_ns && context.size);
	CHECK_OK(coati_label_set(&route, "/"));
	CHECK_INT(stats().published, ==, 1);
}

TEST(labels_of_a_child_are_those_of_the_thread_that_forked_with_a_context_of_its_own)
{
	struct context context;
	int status;

	if (test_emulated())
		test_skip("the emulator ignores MADV_DONTFORK");
	CHECK_OK(coati_label_set(&tenant, "acme"));
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			check_child();
			_exit(0);
		}
		CHECK_INT(waitpid(pid, &status, 0), ==, pid);
		CHECK_INT(status, ==, 0);
	}
	CHECK(find_context(&context) && context.time_ns);
}

/* ---- threads ---- */

static pthread_key_t late_key;
static atomic_int late_rounds;

static void set_late(void *again)
{
	atomic_fetch_add(&late_rounds, 1);
	coati_label_set(&tenant, "late");
	pthread_setspecific(late_key, again);
}

static void *exit_late(void *arg)
{
	coati_label_set(&tenant, "acme");
	pthread_setspecific(late_key, &late_key);
	return arg;
}

TEST(labels_set_by_destructors_of_a_thread_are_cleaned_up_too)
{
	pthread_t thread;

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
	test_skip("TSan does not stand code of ours in the last round of destructors");
#endif
#endif
	/* ours was made before it: it runs after us in every round */
	CHECK_OK(coati_label_set(&route, "/"));
	CHECK_INT(pthread_key_create(&late_key, set_late), ==, 0);
	CHECK_INT(pthread_create(&thread, NULL, exit_late, NULL), ==, 0);
	pthread_join(thread, NULL);
	CHECK_INT(late_rounds, >=, 4);
	CHECK_U64(stats().no_memory, >=, 1); /* in the last round */
}

#define THREADS 8

static void *intern_keys(void *ret)
{
	uint32_t *ids = ret;
	char names[20][8];

	for (int i = 0; i < 20; i++) {
		struct coati_label_key key = { names[i], 0, 0 };

		snprintf(names[i], sizeof(names[i]), "k%d", i);
		coati_label_set(&key, "v");
		ids[i] = key.id;
	}
	return NULL;
}

TEST(labels_keys_have_one_index_however_many_threads_use_them_first)
{
	uint32_t ids[THREADS][20];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, intern_keys, ids[i]), ==, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < THREADS; i++)
		CHECK_MEM(ids[i], ids[0], sizeof(ids[0]));
	CHECK_U64(stats().keys, ==, 20);
}

/* ---- a signal handler at 10 kHz ---- */

static _Atomic uint64_t nr_reads, nr_full, nr_torn;

/* What the flipping thread never has: a check without its number, or one of another number. */
static bool is_torn(const struct coati_labels *labels)
{
	struct coati_label_item label, number = { 0 }, check = { 0 };
	uint32_t pos = 0;
	int r;

	while ((r = coati_labels_next(labels, &pos, &label)) > 0)
		*(label.key[0] == 't' ? &number : &check) = label;
	if (r < 0 || (check.size && check.size != number.size))
		return true;
	if (check.size)
		atomic_fetch_add(&nr_full, 1);
	return check.size && memcmp(check.value, number.value, check.size) != 0;
}

static void on_tick(int signo)
{
	struct coati_labels labels;
	int saved = errno;

	(void)signo;
	coati_labels_snapshot(&labels);
	if (is_torn(&labels))
		atomic_fetch_add(&nr_torn, 1);
	atomic_fetch_add(&nr_reads, 1);
	errno = saved;
}

static void flip(uint64_t i)
{
	struct coati_label_scope outer, inner;
	char value[24];
	int size =
		snprintf(value, sizeof(value), "%0*llx", 1 + (int)(i % 16), (unsigned long long)i);

	coati_label_unset(&route);
	if (i % 3 == 0) {
		coati_label_set(&tenant, value);
		coati_label_set(&route, value);
		return;
	}
	outer = coati_label_begin_bytes(&tenant, value, (size_t)size);
	inner = coati_label_begin_bytes(&route, value, (size_t)size);
	coati_label_end(&inner);
	coati_label_end(&outer);
}

TEST_LIMIT(labels_read_by_a_signal_handler_are_never_half_of_a_change, 60)
{
	struct itimerval tick = { { 0, 100 }, { 0, 100 } }, off = { 0 };
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	uint64_t wanted = test_rounds(2000);

	CHECK_OK(sigaction(SIGALRM, &act, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &tick, NULL));
	for (uint64_t i = 0; nr_full < wanted && i < 40000000; i++)
		flip(i);
	CHECK_OK(setitimer(ITIMER_REAL, &off, NULL));
	test_note("%llu reads, %llu of two labels", (unsigned long long)nr_reads,
		  (unsigned long long)nr_full);
	CHECK_U64(nr_torn, ==, 0);
	CHECK_U64(nr_full, >, 0);
	CHECK_U64(stats().misused, ==, 0);
}

static _Atomic uint64_t nr_changed;

static void change_too(int signo)
{
	struct coati_label_scope scope = coati_label_begin(&route, "from-a-handler");

	(void)signo;
	coati_label_end(&scope);
	if (scope.thread)
		atomic_fetch_add(&nr_changed, 1);
}

TEST(labels_changed_by_a_signal_handler_in_mid_change_are_left_out_and_nothing_breaks)
{
	struct itimerval tick = { { 0, 100 }, { 0, 100 } }, off = { 0 };
	struct sigaction act = { .sa_handler = change_too, .sa_flags = SA_RESTART };
	struct coati_labels labels;
	struct coati_label_scope scope;

	CHECK_OK(coati_label_set(&tenant, "x"));
	CHECK_OK(coati_label_set(&route, "x"));
	CHECK_OK(sigaction(SIGALRM, &act, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &tick, NULL));
	for (uint64_t i = 0; nr_changed < 500 && i < 40000000; i++) {
		scope = coati_label_begin(&tenant, i % 2 ? "acme" : "globex");
		coati_label_end(&scope);
	}
	CHECK_OK(setitimer(ITIMER_REAL, &off, NULL));
	coati_labels_snapshot(&labels);
	CHECK_U64(labels.size, ==, 6);
}
