/* SPDX-License-Identifier: MIT */
/*
 * One ring, inside. Every kind answers the same two questions: look (load the kernel's head: is
 * something there?) and take (the next item up to that head). coati_ring_next() is take, else look
 * and take; a reader looks at all of its rings at once and then takes from each, so that what it
 * delivers before a deadline or flush is bounded.
 *
 * Invariants: pos and head are multiples of 8; head - pos <= mask + 1; published <= pos <= head (as
 * differences, the counters wrap); at stands for pos while at < stop; what lies in [published, pos)
 * is still ours to look at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/ring.h>

/* AUX: the hardware overwrites the oldest and never stops. */
#define COATI_RING_AUX_OVERWRITE (UINT32_C(1) << 3)

/* A ring in memory that is laid out as the kernel's (control page, then data, then AUX; BPF:
 * consumer page, producer page, data mapped twice): for tests and for rings that were saved. The
 * memory stays the caller's. */
int coati_ring_from_memory(void *memory, size_t bytes, const struct coati_ring_opts *opts,
			   struct coati_ring **ret, struct coati_error *err);

int coati_ring_peek(struct coati_ring *ring, struct coati_span *ret_first,
		    struct coati_span *ret_second);

void coati_ring_consume(struct coati_ring *ring, size_t bytes);

/* Stop (1) or resume (0) the writers of a perf ring. Forward: what they would have written counts
 * as lost. Idempotent. */
int coati_ring_pause(struct coati_ring *ring, int pause, struct coati_error *err);

uint64_t coati_ring_unread_bytes(const struct coati_ring *ring);

uint64_t coati_ring_data_bytes(const struct coati_ring *ring);

uint64_t coati_ring_free_bytes(const struct coati_ring *ring);

/* The largest record that this ring can ever deliver: coati_ring_item.size. */
uint64_t coati_ring_max_record(const struct coati_ring *ring);

enum coati_ring_kind coati_ring_kind(const struct coati_ring *ring);

/* -1 for a ring in memory. */
int coati_ring_fd(const struct coati_ring *ring);

/* AUX area: what is new since the last release, as at most two spans; then give it back. With
 * COATI_RING_AUX_OVERWRITE: the whole area from its oldest byte to the newest, and release does
 * nothing. -EOPNOTSUPP without an AUX area, -EBADMSG when its head is malformed (the area is
 * skipped and counted as damage). */
int coati_ring_aux(struct coati_ring *ring, struct coati_span *ret_first,
		   struct coati_span *ret_second);

void coati_ring_aux_release(struct coati_ring *ring, uint64_t bytes);

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Records of perf rings have 16 bits of size and are multiples of 8. */
#define RING_RECORD_MAX		 65528u
#define RING_DEFAULT_BYTES	 (512u * 1024)
#define RING_DATA_MAX		 (UINT64_C(1) << 40) /* no kernel has ever mapped more */
#define RING_RECORD_LOST	 2u
#define RING_RECORD_SAMPLE	 9u
#define RING_RECORD_LOST_SAMPLES 13u
#define RING_AHEAD		 8u
#define RING_PUBLISH_MAX	 (64u * 1024)

/* In front of every record of a perf ring. */
struct ring_header {
	uint32_t type;
	uint16_t misc, size;
};
_Static_assert(sizeof(struct ring_header) == 8, "as the kernel writes it");

/* The same in one load. */
static inline uint64_t ring_header_size(uint64_t word)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word >> 48 : word & 0xffff;
}

static inline uint32_t ring_header_type(uint64_t word)
{
	return (uint32_t)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : word >> 32);
}

struct ring_mapping {
	void *base;
	size_t bytes; /* 0: not ours to unmap */
};

struct coati_drops;

struct coati_ring {
	/* what the walk of a forward or BPF ring touches per record */
	const uint8_t *at,
		/* FORWARD: a piece from pos on, seen, unwrapped, nothing to publish in it; else
		 * NULL */
		*stop;
	const uint8_t *data;
	uint64_t mask;
	uint64_t pos; /* the next record */
	/* FORWARD: from pos up to here is one piece, seen, and nothing is to be published */
	uint64_t limit;
	uint64_t head;	    /* as last looked at */
	uint64_t published; /* tail, as the kernel knows it */
	uint64_t step;	    /* publish when so much is unpublished; never with HOLD */
	uint64_t records;
	int32_t key;
	uint32_t raw_offset;

	enum coati_ring_kind kind;
	uint32_t flags;
	const uint64_t *head_word;
	uint64_t *tail_word; /* NULL: the kernel does not ask */
	uint64_t start;	     /* pos at open: bytes delivered follow from it */
	uint8_t *joined;     /* a record that wraps; at most one lies in the unpublished part */
	int fd;

	bool damage;  /* look found a head that cannot be: bad_head */
	bool had_bad; /* bad_head has been reported */
	bool paused, was_paused;
	bool raw_use; /* peek and consume: losses are reported in bytes that were not read */
	uint64_t bad_head;

	/* loss: announced = what items have reported; credit = the part that BALANCE items reported
	 * before its record came */
	uint64_t announced, credit;
	uint64_t skipped;	       /* bytes of the stream that were no record */
	struct coati_ring_stats stats; /* records and bytes are filled in when asked for */

	/* BPF */
	struct coati_drops *drops;
	bool drops_due; /* look again at the end of what is there */

	/* BACKWARD: the copy is straight: its first byte is at position pos_of_copy */
	uint8_t *copy;
	uint64_t copy_at;  /* position of copy[0] = head at the snapshot */
	uint64_t copy_end; /* first position that is not to be delivered */
	uint64_t seen;	   /* head of the last snapshot: older is known */
	uint64_t largest;  /* record ever walked */
	bool have_snapshot, overwritten, exact_end;
	void (*after_copy)(void *ctx); /* tests: the writer's chance to overtake */
	void *after_copy_ctx;

	/* AUX */
	uint8_t *aux;
	uint64_t aux_bytes, aux_pos;

	struct coati_control_page *control;
	struct ring_mapping maps[3];
};

/* ---- every kind ---- */

/* Load the head. True when coati_ring_take() may have something. */
bool coati_ring_look(struct coati_ring *ring);
int coati_ring_take_slow(struct coati_ring *ring, struct coati_ring_item *ret);
/* A DAMAGE item over the bytes from pos to @resume, where the walk goes on. */
int coati_ring_damaged(struct coati_ring *ring, uint64_t resume, uint64_t skipped,
		       struct coati_ring_item *ret);
/* A LOSS item without bytes, at pos; counted. */
int coati_ring_loss(struct coati_ring *ring, uint64_t count, uint32_t flags,
		    struct coati_ring_item *ret);
void coati_ring_publish(struct coati_ring *ring);

/* ---- kinds ---- */

int coati_forward_slow(struct coati_ring *ring, struct coati_ring_item *ret);
int coati_backward_take(struct coati_ring *ring, struct coati_ring_item *ret);
int coati_bpf_take(struct coati_ring *ring, struct coati_ring_item *ret);
/* True when the ring may be slept on: nothing is there, and whatever comes will wake us. */
bool coati_bpf_idle(struct coati_ring *ring);

/* ---- mapping ---- */

int coati_ring_map(struct coati_ring *ring, uint64_t data_bytes, uint64_t aux_bytes,
		   struct coati_error *err);
int coati_ring_map_bpf(struct coati_ring *ring, struct coati_error *err);
/* Memory that holds a ring: all of it, and so much of that for data and AUX data. */
struct ring_memory {
	void *at;
	size_t bytes;
	uint64_t data_bytes, aux_bytes; /* data 0: what is left */
};

int coati_ring_lay_out(struct coati_ring *ring, const struct ring_memory *m,
		       struct coati_error *err);
int coati_ring_map_aux(struct coati_ring *ring, uint64_t aux_bytes, struct coati_error *err);
void coati_ring_unmap(struct coati_ring *ring);
uint64_t coati_page_bytes(void);

/* Whether the RAW size inside a sample agrees with the header: COATI_ITEM_INNER when not. */
static inline uint32_t ring_inner(const struct coati_ring *ring, const uint8_t *bytes,
				  uint64_t size)
{
	uint32_t at = ring->raw_offset, raw;

	if (unlikely(at + sizeof(raw) > size))
		return COATI_ITEM_INNER;
	__builtin_memcpy(&raw, bytes + at, sizeof(raw));
	return raw > size - at - sizeof(raw) ? COATI_ITEM_INNER : 0;
}

/* After pos, head or published have changed: the piece that the fast path may walk. */
static inline void ring_set_piece(struct coati_ring *ring)
{
	uint64_t left = ring->head - ring->pos, piece = ring->mask + 1 - (ring->pos & ring->mask);
	uint64_t used = ring->pos - ring->published,
		 quiet = ring->step > used ? ring->step - used : 0;

	if (left > piece)
		left = piece;
	ring->at = ring->data + (ring->pos & ring->mask);
	ring->stop = ring->at + (left < quiet ? left : quiet);
}

/* One record of a forward ring that lies in the piece and is no loss: the case that must be fast.
 * All that the next call has to wait for is one pointer, and the headers behind it are fetched
 * ahead. False: coati_ring_take_slow() knows better.  Hot. */
static inline bool ring_take_fast(struct coati_ring *ring, struct coati_ring_item *ret)
{
	const uint8_t *bytes = ring->at;
	uint64_t left = (uint64_t)(ring->stop - bytes), word, size, pos;
	uint32_t type;

	if (unlikely(left < sizeof(word)))
		return false;
	__builtin_memcpy(&word, bytes, sizeof(word));
	size = ring_header_size(word);
	type = ring_header_type(word);
	/* at least 8, a multiple of 8 */
	if (unlikely((size - 8) & ~UINT64_C(0xfff8) || size > left))
		return false;
	ret->flags = 0;
	if (unlikely(type != RING_RECORD_SAMPLE)) {
		if (type == RING_RECORD_LOST || type == RING_RECORD_LOST_SAMPLES)
			return false;
	} else if (ring->raw_offset) {
		ret->flags = ring_inner(ring, bytes, size);
	}
	ring->at = bytes + size;
	/* The header of a record to come, if they go on in this size; not past what the kernel has
	 * finished. */
	__builtin_prefetch(bytes + (left > RING_AHEAD * size ? RING_AHEAD * size : 0));
	pos = ring->pos;
	ring->pos = pos + size;
	ring->records++;
	ret->kind = COATI_ITEM_RECORD;
	ret->key = ring->key;
	ret->size = (uint32_t)size;
	ret->bytes = bytes;
	ret->position = pos;
	ret->time = 0;
	return true;
}

/* The next item up to the head that was last looked at; 0 when there is none. */
static inline int ring_take(struct coati_ring *ring, struct coati_ring_item *ret)
{
	return likely(ring_take_fast(ring, ret)) ? 1 : coati_ring_take_slow(ring, ret);
}
