/* SPDX-License-Identifier: MIT */
/* A recording of ten samples, written and read back; and files as plain bytes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/recording.h>

#include "recording/recording.h"
#include "recording/writer.h"

extern const struct coati_attr small_attr;

/* A sample of the clock event: 40 bytes. */
size_t small_sample(uint8_t *buf, uint64_t id, uint64_t ip, uint64_t time);
/* A writer that has started, with one event that has the ids 7 and 8. */
struct coati_writer *small_start(const char *path, uint32_t flags, int level);
void small_add(struct coati_writer *w, uint64_t id, uint64_t ip, uint64_t time);
/* Two rings of five samples each, one round. */
void small_write(const char *path, uint32_t flags, int level);
void small_check(const char *path);
struct coati_recording *small_open(const char *path, uint32_t flags);
/* Samples in the order in which they are read; returns how it ended. */
int small_samples(struct coati_recording *r, uint64_t *ips, uint32_t max, uint32_t *ret_nr);
/* Open and read all, without a look at the records. Returns the number of samples, -1 when it does
 * not open. */
int small_try(const char *path, int *ret_end);
/* Skips the test where there is no zstd. */
void small_need_zstd(void);

size_t small_slurp(const char *path, uint8_t *buf, size_t cap);
void small_spit(const char *path, const uint8_t *buf, size_t size);
