/* SPDX-License-Identifier: MIT */
/*
 * The process context of OTEP 4719: a mapping named OTEL_CTX with a header that points at a
 * protobuf message, from which profilers outside learn what the key indexes of OTEP 4947 mean.
 * docs/formats/thread-context.md has the bytes.
 *
 * One writer at a time without a lock: a thread that finds another writer leaves its request with
 * that one. There are two places for the message, used in turns, so that a reader of the older one
 * is not disturbed; the time in the header tells it when both were overtaken. A child after fork()
 * does not have the mapping, and makes its own.
 */
#include "live/labels.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <coati/version.h>

#include "base/leb128.h"

#ifndef PR_SET_VMA /* Linux 5.17 */
#define PR_SET_VMA	     0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define NAME	      "OTEL_CTX"
#define PAYLOAD_BYTES 32768 /* all keys at their longest are 17.4 KB, the rest at most 5 KB */
#define HEADER_BYTES  4096
#define MAP_BYTES     (HEADER_BYTES + 2 * PAYLOAD_BYTES)

struct header {
	_Atomic uint64_t signature; /* "OTEL_CTX" in memory */
	uint32_t version, size;
	_Atomic uint64_t time_ns; /* CLOCK_BOOTTIME; 0 while it changes */
	uint64_t payload;
};

_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

static struct {
	struct header *header;
	pid_t pid; /* of the process that the mapping is of; 0 when we never had one */
	uint32_t turn;
	uint64_t last_ns;
	pthread_once_t once;
	atomic_uint wishes;
	atomic_bool busy;
} ctx = { .once = PTHREAD_ONCE_INIT };

/* ---- the message ----
 *
 * Written from its end to its front: lengths are known when they are needed. */

struct message {
	uint8_t *front;
	size_t room;
};

static void put_bytes(struct message *m, const void *bytes, size_t size)
{
	if (m->room < size) {
		m->room = 0; /* cannot happen, see PAYLOAD_BYTES; but never write in front of it */
		return;
	}
	m->room -= size;
	m->front -= size;
	memcpy(m->front, bytes, size);
}

static void put_varint(struct message *m, size_t value)
{
	uint8_t bytes[LEB128_MAX];

	put_bytes(m, bytes, (size_t)(uleb_put(bytes, value) - bytes));
}

/* The field @number, whose contents are what was put since @end was the front. */
static void put_head(struct message *m, uint32_t number, const uint8_t *end)
{
	put_varint(m, (size_t)(end - m->front));
	put_varint(m, number << 3 | 2);
}

static void put_text(struct message *m, uint32_t number, const char *text)
{
	const uint8_t *end = m->front;

	put_bytes(m, text, strlen(text));
	put_head(m, number, end);
}

/* KeyValue { 1: key, 2: AnyValue } as field @number; the value was put since @end was the front. */
static void put_pair_head(struct message *m, uint32_t number, const char *key, const uint8_t *end)
{
	put_head(m, 2, end);
	put_text(m, 1, key);
	put_head(m, number, end);
}

static void put_pair(struct message *m, uint32_t number, const char *key, const char *value)
{
	const uint8_t *end = m->front;

	put_text(m, 1, value); /* AnyValue.string_value */
	put_pair_head(m, number, key, end);
}

/* AnyValue.array_value, the names in the order of their indexes. */
static void put_key_map(struct message *m)
{
	const uint8_t *end = m->front;
	uint32_t n = 0;

	while (n < COATI_LABEL_KEYS &&
	       atomic_load_explicit(&coati_label_names[n], memory_order_acquire))
		n++;
	while (n-- > 0) {
		const uint8_t *value = m->front;

		put_text(m, 1, atomic_load_explicit(&coati_label_names[n], memory_order_acquire));
		put_head(m, 1, value);
	}
	put_head(m, 5, end);
	put_pair_head(m, 2, "threadlocal.attribute_key_map", end);
}

static void put_resource(struct message *m)
{
	const uint8_t *end = m->front;
	const char *service = secure_getenv("OTEL_SERVICE_NAME");
	char fallback[128];

	snprintf(fallback, sizeof(fallback), "unknown_service:%s", program_invocation_short_name);
	put_pair(m, 1, "telemetry.sdk.version", COATI_VERSION_STRING);
	put_pair(m, 1, "telemetry.sdk.name", "coati");
	put_pair(m, 1, "service.name",
		 service && *service && strlen(service) < 4096 ? service : fallback);
	put_head(m, 1, end);
}

/* ProcessContext { 1: Resource, 2: attributes } at the end of @place; where it begins. */
static uint8_t *encode(uint8_t *place, uint32_t *ret_size)
{
	struct message m = { place + PAYLOAD_BYTES, PAYLOAD_BYTES };

	put_key_map(&m);
	put_pair(&m, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	put_resource(&m);
	*ret_size = (uint32_t)(place + PAYLOAD_BYTES - m.front);
	return m.front;
}

/* ---- the mapping ---- */

/* Whether another library in this process publishes one: there may be only one. */
static bool is_published_by_others(void)
{
	static const char text[] = ":" NAME;
	char bytes[4096];
	size_t kept = 0; /* of the piece before: the text may lie across */
	bool found = false;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	while (fd >= 0 && !found && (n = read(fd, bytes + kept, sizeof(bytes) - kept)) > 0) {
		kept += (size_t)n;
		found = memmem(bytes, kept, text, strlen(text)) != NULL;
		if (kept >= sizeof(text)) {
			memmove(bytes, bytes + kept - sizeof(text), sizeof(text));
			kept = sizeof(text);
		}
	}
	if (fd >= 0)
		close(fd);
	return found;
}

static void name_mapping(void)
{
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, ctx.header, MAP_BYTES, NAME);
}

static void *map_memfd(void)
{
	int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	void *p = MAP_FAILED;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(NAME, MFD_CLOEXEC);
	if (fd < 0)
		return p;
	if (ftruncate(fd, MAP_BYTES) == 0)
		p = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	return p;
}

/* Zeroed, not inherited by children. */
static int make_mapping(void)
{
	void *p;
	int r;

	if (!ctx.pid && is_published_by_others())
		return -EEXIST;
	p = map_memfd();
	if (p == MAP_FAILED)
		p = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, MAP_BYTES, MADV_DONTFORK) < 0) {
		r = -errno;
		munmap(p, MAP_BYTES);
		return r;
	}
	ctx.header = p;
	ctx.pid = getpid();
	return 0;
}

static uint64_t next_time_ns(void)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	ctx.last_ns = now > ctx.last_ns ? now : ctx.last_ns + 1;
	return ctx.last_ns;
}

static int publish(void)
{
	uint8_t *place, *payload;
	uint64_t signature;
	uint32_t size;
	int r;

	/* a child that fork() did not make */
	if (ctx.header && ctx.pid != getpid())
		ctx.header = NULL;
	r = ctx.header ? 0 : make_mapping();
	if (r < 0)
		return r;
	place = (uint8_t *)ctx.header + HEADER_BYTES + (ctx.turn++ % 2) * PAYLOAD_BYTES;
	payload = encode(place, &size);
	/* readers are other processes: they take time, rest, time again (OTEP 4719) */
	atomic_store_explicit(&ctx.header->time_ns, 0, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	ctx.header->version = 2;
	ctx.header->size = size;
	ctx.header->payload = (uint64_t)(uintptr_t)payload;
	atomic_thread_fence(memory_order_seq_cst);
	atomic_store_explicit(&ctx.header->time_ns, next_time_ns(), memory_order_seq_cst);
	memcpy(&signature, NAME, sizeof(signature));
	atomic_store_explicit(&ctx.header->signature, signature, memory_order_release);
	name_mapping();
	return 1;
}

/* The only thread of the child, and no other one can be at it. */
static void in_child(void)
{
	int saved = errno;

	atomic_store_explicit(&ctx.busy, false, memory_order_relaxed);
	ctx.header = NULL;
	if (ctx.pid)
		coati_process_context_publish();
	errno = saved;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void coati_process_context_publish(void)
{
	unsigned int seen;

	pthread_once(&ctx.once, watch_forks);
	atomic_fetch_add_explicit(&ctx.wishes, 1, memory_order_seq_cst);
	/* pairs with: the same two in another thread; one of us sees the other's wish */
	while (!atomic_exchange_explicit(&ctx.busy, true, memory_order_seq_cst)) {
		seen = atomic_load_explicit(&ctx.wishes, memory_order_seq_cst);
		atomic_store_explicit(&coati_process_context_state, publish(),
				      memory_order_relaxed);
		atomic_store_explicit(&ctx.busy, false, memory_order_seq_cst);
		if (seen == atomic_load_explicit(&ctx.wishes, memory_order_seq_cst))
			break;
	}
}
