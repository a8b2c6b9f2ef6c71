/* SPDX-License-Identifier: MIT */
/*
 * A program that publishes labels without our library, by OTEP 4947 and 4719, and not always as it
 * should. Prints its number, waits for a line on its standard input, touches pages, each of which
 * is a page fault, and waits for the end of the input.
 *
 *	foreign (KIND N)...
 *
 * N pages with the label that KIND is:
 *	whole		tenant=acme
 *	edge		the same, behind whose last byte is no memory
 *	again		tenant=nobody tenant=acme, of which the last counts
 *	hidden		tenant=acme tenant=, which hides it
 *	odd		bytes that are no text, in the value and the name of the key
 *	unnamed		a key without a name, which is published too late
 *	cut		an entry that is longer than the record
 *	long		more bytes than a record has
 *	invalid		a record that is not valid
 *	far		a pointer to nothing
 *	sets		another value for each page
 *	worker		tenant=acme, while a thread that io_uring makes in the kernel touches them
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/io_uring.h>) /* musl-gcc has none */
#include <linux/io_uring.h>
#endif

const void **foreign_context(void);

#define HEAD_BYTES 28

static struct {
	uint8_t ids[24], valid, flags;
	uint16_t size;
	uint8_t entries[612];
} record = { .valid = 1 };

/* ---- the process context ---- */

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t time;
	const uint8_t *message;
};

static uint8_t message[1024];
static size_t message_size;

/* A field of bytes: shorter than 128 bytes. */
static size_t put_field(uint8_t *to, unsigned int number, const void *bytes, size_t size)
{
	to[0] = (uint8_t)(number << 3 | 2);
	to[1] = (uint8_t)size;
	memcpy(to + 2, bytes, size);
	return size + 2;
}

static void put_attribute(const char *key, const uint8_t *value, size_t size)
{
	uint8_t pair[256];
	size_t at = put_field(pair, 1, key, strlen(key));

	at += put_field(pair + at, 2, value, size);
	message_size += put_field(message + message_size, 2, pair, at);
}

static void publish_keys(void)
{
	static const char *const names[] = { "tenant", "odd\n\033[31mkey" };
	static const char schema[] = "tlsdesc_v1_dev";
	uint8_t text[128], items[128], value[128];
	size_t nr = 0, size;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct header *h = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, 4096) == 0)
		h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (h == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size = put_field(text, 1, names[i], strlen(names[i]));
		nr += put_field(items + nr, 1, text, size);
	}
	size = put_field(value, 5, items, nr);
	put_attribute("threadlocal.attribute_key_map", value, size);
	size = put_field(value, 1, schema, strlen(schema));
	put_attribute("threadlocal.schema_version", value, size);
	*h = (struct header){
		.version = 2, .size = (uint32_t)message_size, .time = 1, .message = message
	};
	memcpy(h->signature, "OTEL_CTX", 8);
}

/* ---- labels ---- */

static void set_labels(const void *entries, size_t size)
{
	memcpy(record.entries, entries, size);
	record.size = (uint16_t)size;
}

/* The record as it is, at the end of a page. */
static const void *at_edge(void)
{
	static char *pages;
	size_t size = HEAD_BYTES + (size_t)record.size;

	if (!pages) {
		pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_NONE) < 0)
			exit(1);
	}
	memcpy(pages + 4096 - size, &record, size);
	return pages + 4096 - size;
}

static void set_kind(const char *kind, long i)
{
	char value[32];

	record.valid = 1;
	*foreign_context() = &record;
	if (!strcmp(kind, "whole"))
		set_labels("\0\4acme", 6);
	else if (!strcmp(kind, "edge")) {
		set_labels("\0\4acme", 6);
		*foreign_context() = at_edge();
	} else if (!strcmp(kind, "again"))
		set_labels("\0\6nobody\0\4acme", 14);
	else if (!strcmp(kind, "hidden"))
		set_labels("\0\4acme\0\0", 8);
	else if (!strcmp(kind, "odd"))
		set_labels("\1\7a\033[2J\377", 9);
	else if (!strcmp(kind, "unnamed"))
		set_labels("\7\4acme", 6);
	else if (!strcmp(kind, "cut"))
		set_labels("\0\4acme\0\5x", 9);
	else if (!strcmp(kind, "long"))
		record.size = sizeof(record.entries) + 1;
	else if (!strcmp(kind, "invalid"))
		record.valid = 0;
	else if (!strcmp(kind, "far"))
		*foreign_context() = (const void *)(uintptr_t)4096;
	else if (!strcmp(kind, "sets")) {
		snprintf(value, sizeof(value), "%c%c%ld", 0, 10, 1000000000 + i);
		memcpy(record.entries, value, 12);
		record.size = 12;
	} else {
		exit(2);
	}
}

static void touch_pages(const char *kind, long nr)
{
	char *p = mmap(NULL, (size_t)nr * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, (size_t)nr * 4096, MADV_NOHUGEPAGE);
	for (long i = 0; i < nr; i++) {
		set_kind(kind, i);
		*(volatile char *)(p + i * 4096) = 1;
		*foreign_context() = NULL;
	}
	munmap(p, (size_t)nr * 4096);
}

/* ---- a thread of the kernel ---- */

#ifdef IORING_OFF_SQES
/* Reads @size bytes of zeros to @to by io_uring, in a thread of its own. */
static void read_aside(char *to, size_t size)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &p), zero = open("/dev/zero", O_RDONLY);
	struct io_uring_sqe *sqe;
	char *ring;
	unsigned int *tail;

	if (fd < 0 || zero < 0)
		exit(3);
	ring = mmap(NULL, p.sq_off.array + 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		    fd, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		   IORING_OFF_SQES);
	if (ring == MAP_FAILED || (void *)sqe == MAP_FAILED)
		exit(3);
	*sqe = (struct io_uring_sqe){ .opcode = IORING_OP_READ,
				      .flags = IOSQE_ASYNC,
				      .fd = zero,
				      .addr = (uintptr_t)to,
				      .len = (unsigned int)size };
	*(unsigned int *)(ring + p.sq_off.array) = 0;
	tail = (unsigned int *)(ring + p.sq_off.tail);
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		exit(3);
	close(zero);
	close(fd);
}
#else
static void read_aside(char *to, size_t size)
{
	(void)to;
	(void)size;
	exit(3);
}
#endif

static void read_pages(long nr)
{
	size_t size = (size_t)nr * 4096;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, size, MADV_NOHUGEPAGE);
	set_kind("whole", 0);
	read_aside(p, size);
	*foreign_context() = NULL;
	munmap(p, size);
}

static void wait_for_line(void)
{
	for (int c = getchar(); c != '\n' && c != EOF; c = getchar())
		;
}

int main(int argc, char **argv)
{
	publish_keys();
	/* their pages are there */
	memset(record.entries, 0, sizeof(record.entries));
	*foreign_context() = at_edge();
	*foreign_context() = NULL;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	wait_for_line();
	for (int i = 1; i + 1 < argc; i += 2)
		if (!strcmp(argv[i], "worker"))
			read_pages(strtol(argv[i + 1], NULL, 10));
		else
			touch_pages(argv[i], strtol(argv[i + 1], NULL, 10));
	printf("done\n");
	fflush(stdout);
	wait_for_line();
	return 0;
}
