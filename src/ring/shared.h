/* SPDX-License-Identifier: MIT */
/*
 * Words that the kernel (or a fake of it, in tests) writes or reads while we do: the only way to
 * touch them. The partner of each is in the kernel: perf_output_put_handle() and
 * __perf_output_begin() for perf rings, bpf_ringbuf_commit() and __bpf_ringbuf_reserve() for BPF's.
 */
#pragma once

#include <stdint.h>

/* Pairs with the kernel's release of the bytes before it. */
static inline uint64_t shared_load_acquire(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint32_t shared_load_acquire_u32(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Pairs with the kernel's acquire before it writes over the bytes. */
static inline void shared_store_release(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* Store, then look: what is loaded by shared_load_full() afterwards is not older than the moment
 * when the other side could see @value. The partner does the same in the other order (full barrier
 * in the kernel's xchg of the header), so that of "we sleep" and "it does not wake us" at most one
 * happens. */
static inline void shared_store_full(uint64_t *word, uint64_t value)
{
	(void)__atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

static inline uint64_t shared_load_full(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static inline uint32_t shared_load_full_u32(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
