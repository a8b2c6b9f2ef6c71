/* SPDX-License-Identifier: MIT */
/* A kernel that fits into a test: one writer, no interrupts. */
#include "lib/fake-ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/abi.h>

#include "lib/test.h"
#include "ring/ring.h"
#include "ring/shared.h"

#define BUSY	(UINT32_C(1) << 31)
#define DISCARD (UINT32_C(1) << 30)
#define LOST	2u

struct header {
	uint32_t type;
	uint16_t misc, size;
};

static size_t page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static uint8_t *data_of(const struct fake_ring *f)
{
	return f->memory + (f->kind == COATI_RING_BPF ? 2 : 1) * page();
}

static struct coati_control_page *control(const struct fake_ring *f)
{
	return (struct coati_control_page *)(void *)f->memory;
}

static uint64_t *head_word(const struct fake_ring *f)
{
	if (f->kind == COATI_RING_BPF)
		return (uint64_t *)(void *)(f->memory + page());
	return &control(f)->data_head;
}

static uint64_t *tail_word(const struct fake_ring *f)
{
	return f->kind == COATI_RING_BPF ? (uint64_t *)(void *)f->memory : &control(f)->data_tail;
}

/* BPF: the data twice, one behind the other, as the kernel maps it. */
static uint8_t *map_twice(size_t size)
{
	size_t front = 2 * page();
	int fd = memfd_create("fake-ring", MFD_CLOEXEC);
	uint8_t *p;

	CHECK(fd >= 0);
	CHECK_OK(ftruncate(fd, (off_t)(front + size)));
	p = mmap(NULL, front + 2 * size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK(mmap(p + front + size, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   (off_t)front) != MAP_FAILED);
	close(fd);
	return p;
}

void fake_ring_init(struct fake_ring *f, enum coati_ring_kind kind, uint64_t size, uint64_t start)
{
	*f = (struct fake_ring){ .size = size, .kind = kind, .head = start };
	if (kind == COATI_RING_BPF) {
		f->bytes = 2 * page() + 2 * size;
		f->memory = map_twice(size);
	} else {
		f->bytes = page() + size;
		f->memory = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(f->memory != MAP_FAILED);
		control(f)->data_offset = page();
		control(f)->data_size = size;
	}
	shared_store_release(head_word(f), start);
	if (kind != COATI_RING_BACKWARD)
		shared_store_release(tail_word(f), start);
}

void fake_ring_fini(struct fake_ring *f)
{
	munmap(f->memory, f->bytes);
}

struct coati_ring *fake_ring_open(struct fake_ring *f, uint32_t flags)
{
	struct coati_ring_opts o = { .size = sizeof(o), .kind = f->kind, .flags = flags, .key = 7 };
	struct coati_ring *ring = NULL;
	struct coati_error err = { 0 };

	if (coati_ring_from_memory(f->memory, f->bytes, &o, &ring, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return ring;
}

/* Byte @i of what belongs to record @number. */
static uint8_t pattern(uint64_t number, size_t i)
{
	return (uint8_t)(number * 31 + i * 7 + (i >> 8));
}

static void put(struct fake_ring *f, uint64_t at, const void *bytes, size_t size)
{
	uint8_t *data = data_of(f);
	size_t first = (size_t)(f->size - at % f->size);

	if (first > size)
		first = size;
	memcpy(data + at % f->size, bytes, first);
	memcpy(data, (const uint8_t *)bytes + first, size - first);
}

static void fill_body(uint8_t *body, size_t size, uint64_t number)
{
	for (size_t i = 0; i < size; i++)
		body[i] = i < 8 ? (uint8_t)(number >> 8 * i) : pattern(number, i);
}

static void put_record(struct fake_ring *f, uint64_t at, uint32_t type, uint32_t size,
		       uint64_t number)
{
	static uint8_t buf[65536];
	struct header header = { type, 0, (uint16_t)size };

	memcpy(buf, &header, sizeof(header));
	fill_body(buf + 8, size - 8, number);
	put(f, at, buf, size);
}

static void put_lost(struct fake_ring *f)
{
	struct {
		struct header header;
		uint64_t id, lost;
	} lost = { { LOST, 0, 24 }, 77, f->lost };

	put(f, f->head, &lost, sizeof(lost));
	f->head += sizeof(lost);
	f->lost = 0;
}

static bool write_forward(struct fake_ring *f, uint32_t type, uint32_t size, uint64_t number)
{
	uint64_t need = size + (f->lost ? 24 : 0);

	/* pairs with: the reader's release of the tail */
	if (f->size - 1 - (f->head - shared_load_acquire(tail_word(f))) < need) {
		f->lost++;
		f->lost_all++;
		return false;
	}
	if (f->lost)
		put_lost(f);
	put_record(f, f->head, type, size, number);
	f->head += size;
	f->written++;
	/* pairs with: the reader's acquire of the head */
	shared_store_release(head_word(f), f->head);
	return true;
}

bool fake_ring_write(struct fake_ring *f, uint32_t type, uint32_t size, uint64_t number)
{
	uint32_t *header;

	if (f->kind == COATI_RING_FORWARD)
		return write_forward(f, type, size, number);
	if (f->kind == COATI_RING_BACKWARD) {
		f->head -= size;
		put_record(f, f->head, type, size, number);
		f->written++;
		shared_store_release(head_word(f), f->head);
		return true;
	}
	header = fake_ring_reserve(f, size, number);
	if (header)
		fake_ring_commit(header, false);
	return header != NULL;
}

void fake_ring_write_raw(struct fake_ring *f, const void *bytes, uint32_t size)
{
	uint64_t total = (size + 7u) & ~7u;

	if (f->kind == COATI_RING_BACKWARD)
		f->head -= total;
	put(f, f->head, bytes, size);
	if (f->kind == COATI_RING_FORWARD)
		f->head += total;
	shared_store_release(head_word(f), f->head);
}

void fake_ring_write_header(struct fake_ring *f, uint32_t type, uint16_t size, uint64_t advance)
{
	struct header header = { type, 0, size };

	if (f->kind == COATI_RING_BACKWARD)
		f->head -= advance;
	put(f, f->head, &header, sizeof(header));
	if (f->kind == COATI_RING_FORWARD)
		f->head += advance;
	shared_store_release(head_word(f), f->head);
}

void fake_ring_set_head(struct fake_ring *f, uint64_t head)
{
	f->head = head;
	shared_store_release(head_word(f), head);
}

uint64_t fake_ring_tail(const struct fake_ring *f)
{
	return shared_load_acquire(tail_word(f));
}

uint32_t *fake_ring_reserve(struct fake_ring *f, uint32_t size, uint64_t number)
{
	uint64_t total = (size + 8ull + 7) & ~7ull;
	uint8_t *record = data_of(f) + f->head % f->size;
	uint32_t *header = (uint32_t *)(void *)record;

	if (f->head + total - shared_load_acquire(tail_word(f)) > f->size - 1) {
		f->lost_all++;
		return NULL;
	}
	__atomic_store_n(header, size | BUSY, __ATOMIC_RELAXED);
	fill_body(record + 8, size, number);
	f->head += total;
	f->written++;
	shared_store_release(head_word(f), f->head);
	return header;
}

void fake_ring_commit(uint32_t *header, bool discard)
{
	uint32_t length = __atomic_load_n(header, __ATOMIC_RELAXED) & ~BUSY;

	(void)__atomic_exchange_n(header, length | (discard ? DISCARD : 0), __ATOMIC_SEQ_CST);
}

void fake_ring_check(const struct fake_ring *f, const struct coati_ring_item *item, uint32_t size,
		     uint64_t number)
{
	const uint8_t *body = item->bytes;
	size_t len = size;

	CHECK_INT(item->kind, ==, COATI_ITEM_RECORD);
	CHECK_U64(item->size, ==, size);
	if (f->kind != COATI_RING_BPF) {
		body += 8;
		len -= 8;
	}
	for (size_t i = 0; i < len; i++) {
		uint8_t want = i < 8 ? (uint8_t)(number >> 8 * i) : pattern(number, i);

		if (body[i] != want)
			test_fail_at(__FILE__, __LINE__,
				     "record %llu of %u bytes: byte %zu is %u, not %u",
				     (unsigned long long)number, size, i, body[i], want);
	}
}

uint64_t fake_ring_number(const struct fake_ring *f, const struct coati_ring_item *item)
{
	uint64_t number = 0;

	memcpy(&number, item->bytes + (f->kind == COATI_RING_BPF ? 0 : 8), sizeof(number));
	return number;
}
