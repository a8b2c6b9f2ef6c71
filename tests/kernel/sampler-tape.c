/* SPDX-License-Identifier: MIT */
/* Work that is known goes in, a profile that is read back comes out. */
#include "kernel/sampler-tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/leb128.h"
#include "format/gzip.h"
#include "base/proto.h"
#include "kernel/need.h"
#include "lib/sanitizer.h"

struct coati_error err;
volatile uint64_t sink;

/* ---- work ---- */

__attribute__((noinline)) void burn_half(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = i;
}

__attribute__((noinline)) void burn_third(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = i + 1;
}

__attribute__((noinline)) void burn_fifth(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sink = i + 2;
}

volatile uint64_t parts[3];

uint64_t thread_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Between a quarter and seven quarters of it: work of a fixed length keeps step with samples of a
 * fixed period, and some of it is never hit. */
static uint64_t part(int i, uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return parts[i] / 4 + parts[i] * (*seed >> 40) * 3 / (2 << 24);
}

uint64_t rounds_for(uint64_t ns)
{
	const uint64_t rounds = 100000;
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t took, start = thread_ns();

		burn_half(rounds);
		took = thread_ns() - start;
		least = took && took < least ? took : least;
	}
	return rounds * ns / least + 1;
}

/*
 * Long beside a look at the clock, on a fast machine and a slow one, with a sanitizer and without.
 */
__attribute__((constructor)) static void measure_parts(void)
{
	uint64_t rounds = rounds_for(60 * NSEC_PER_USEC);

	for (uint64_t i = 0; i < 3; i++)
		parts[i] = rounds * (i ? 4 - i : 5);
}

struct burnt burn(uint64_t cpu_ns)
{
	struct burnt b = { .tid = (int32_t)syscall(SYS_gettid) };
	uint64_t start = thread_ns(), at = start, now, seed = start;

	while (at - start < cpu_ns) {
		burn_half(part(0, &seed));
		now = thread_ns();
		b.half_ns += now - at;
		at = now;
		burn_third(part(1, &seed));
		now = thread_ns();
		b.third_ns += now - at;
		at = now;
		burn_fifth(part(2, &seed));
		now = thread_ns();
		b.fifth_ns += now - at;
		at = now;
	}
	return b;
}

void *burn_in_thread(void *arg)
{
	struct burnt *b = arg;

	*b = burn(b->half_ns);
	b->thread_ns = thread_ns();
	return NULL;
}

uint64_t all_of(const struct burnt *b)
{
	return b->half_ns + b->third_ns + b->fifth_ns;
}

uint64_t usage_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NSEC_PER_USEC;
}

struct coati_event *counted_clock(uint64_t flags)
{
	struct coati_attr attr = software(COATI_SW_TASK_CLOCK);
	struct coati_event *ev;

	need_perf();
	attr.flags |= flags;
	ev = opened(&attr, NULL);
	CHECK_OK(coati_event_enable(ev));
	return ev;
}

uint64_t counted_ns(struct coati_event *ev)
{
	struct coati_count c;

	CHECK_OK(coati_event_read(ev, &c));
	return c.value;
}

/* ---- the profile ---- */

struct sampler_tape profile;
const char *root;

struct share *share_of(struct share *list, uint64_t id)
{
	for (int i = 0; i < SHARES_MAX; i++)
		if (list[i].id == id || !list[i].samples) {
			list[i].id = id;
			return &list[i];
		}
	CHECK(false);
	return NULL;
}

static uint64_t field_of(const struct proto_reader *message, uint32_t field)
{
	struct proto_reader r = proto_over(message->bytes, message->size);

	while (coati_proto_next(&r))
		if (r.field == field && r.wire == PROTO_VARINT)
			return r.value;
	return 0;
}

static bool is_function(uint64_t id, const char *name)
{
	uint64_t text = id < 65536 ? profile.leaf_name[id] : 0;

	return text && profile.text_sizes[text] == strlen(name) &&
	       !memcmp(profile.texts[text], name, strlen(name));
}

static bool has_root(struct cursor c)
{
	while (root && cursor_left(&c) && !c.bad) {
		uint64_t location = cursor_uleb(&c);

		if (location < 65536 && is_function(profile.function_of[location], root))
			return true;
	}
	return false;
}

static void take_sample(const struct proto_reader *message)
{
	struct proto_reader r = proto_over(message->bytes, message->size);
	uint64_t leaf = 0, values[2] = { 0 }, thread = 0, label = 0;
	bool rooted = false;

	while (coati_proto_next(&r)) {
		struct cursor c = cursor_over(r.bytes, r.size);

		if (r.field == 1) {
			rooted = has_root(c);
			/* none when its code was unloaded before the end */
			leaf = r.size ? cursor_uleb(&c) : 0;
		} else if (r.field == 2) {
			values[0] = cursor_uleb(&c);
			values[1] = cursor_uleb(&c);
		} else if (r.field == 3) {
			thread = field_of(&r, 3) ? field_of(&r, 3) : thread;
			label = field_of(&r, 2) ? field_of(&r, 2) : label;
		}
		CHECK(r.field > 2 || !c.bad);
	}
	CHECK(!r.bad);
	profile.samples += values[0];
	profile.rooted += rooted ? values[0] : 0;
	profile.cpu_ns += values[1];
	share_of(profile.threads, thread)->samples += values[0];
	share_of(profile.labels, label)->samples += values[0];
	share_of(profile.functions, leaf < 65536 ? profile.function_of[leaf] : 0)->samples +=
		values[0];
}

static void take_field(const struct proto_reader *r, bool samples)
{
	if (samples) {
		if (r->field == 2)
			take_sample(r);
	} else if (r->field == 6) {
		CHECK_U64(profile.nr_texts, <, 65536);
		profile.texts[profile.nr_texts] = (const char *)r->bytes;
		profile.text_sizes[profile.nr_texts++] = r->size;
	} else if (r->field == 5 && field_of(r, 1) < 65536) {
		profile.leaf_name[field_of(r, 1)] = field_of(r, 2);
	} else if (r->field == 4 && field_of(r, 1) < 65536) {
		struct proto_reader l = proto_over(r->bytes, r->size);

		while (coati_proto_next(&l))
			if (l.field == 4)
				profile.function_of[field_of(r, 1)] = field_of(&l, 1);
	}
}

/* The sampler writes gzip of stored blocks, which can be read without zlib: a header of ten bytes,
 * then blocks of a byte (1: the last), a length, its complement and so many bytes, then a checksum
 * and a length. */
static void unpack_stored(const struct strbuf *file, struct strbuf *ret)
{
	struct cursor c = cursor_over(file->text, file->len);
	uint8_t kind = 0;

	cursor_skip(&c, 10);
	while (!kind && !c.bad) {
		uint16_t size, inverse;
		const void *bytes;

		kind = cursor_u8(&c);
		size = cursor_u16(&c);
		inverse = cursor_u16(&c);
		CHECK_U64(kind, <=, 1);
		CHECK_U64(size ^ inverse, ==, UINT16_MAX);
		bytes = cursor_bytes(&c, size);
		if (bytes)
			coati_strbuf_add(ret, bytes, size);
	}
	CHECK(!c.bad);
	CHECK_U64(cursor_left(&c), ==, 8);
}

static void unpack(const struct strbuf *file, struct strbuf *ret)
{
	if (coati_gzip_works())
		CHECK_OK(coati_inflate_gzip(file->text, file->len, ret, &err));
	else
		unpack_stored(file, ret);
}

void stop_and_read(struct coati_sampler_stats *ret)
{
	struct strbuf file = STRBUF_INIT(64 << 20);
	int fd = open("cpu.pb.gz", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK_INT(fd, >=, 0);
	CHECK_OK(coati_sampler_stop(fd, ret, &err));
	close(fd);
	memset(&profile, 0, sizeof(profile));
	profile.bytes = (struct strbuf)STRBUF_INIT(256 << 20);
	CHECK_OK(coati_file_read(AT_FDCWD, "cpu.pb.gz", &file));
	unpack(&file, &profile.bytes);
	coati_strbuf_fini(&file);
	for (int pass = 0; pass < 2; pass++) {
		struct proto_reader r = proto_over(profile.bytes.text, profile.bytes.len);

		while (coati_proto_next(&r))
			take_field(&r, pass);
		CHECK(!r.bad);
	}
	CHECK_U64(profile.cpu_ns, ==, ret->cpu_ns);
}

uint64_t samples_of_function(const char *name)
{
	for (int i = 0; i < SHARES_MAX && profile.functions[i].samples; i++)
		if (is_function(profile.functions[i].id, name))
			return profile.functions[i].samples;
	return 0;
}

uint64_t samples_of_label(const char *value)
{
	for (uint32_t i = 1; i < profile.nr_texts; i++)
		if (profile.text_sizes[i] == strlen(value) &&
		    !memcmp(profile.texts[i], value, strlen(value)))
			return share_of(profile.labels, i)->samples;
	return 0;
}

bool has_comment(const char *part)
{
	for (uint32_t i = 0; i < profile.nr_texts; i++)
		if (memmem(profile.texts[i], profile.text_sizes[i], part, strlen(part)))
			return true;
	return false;
}

/* ---- judgment ---- */

/* Hundredths of a second that the host has taken from this guest. */
static uint64_t stolen(void)
{
	struct strbuf text = STRBUF_INIT(1 << 20);
	uint64_t ticks = 0;
	char *at;

	CHECK_OK(coati_file_read(AT_FDCWD, "/proc/stat", &text));
	at = text.text;
	for (int i = 0; i < 8; i++)
		at += strcspn(at, " \n") + strspn(at + strcspn(at, " \n"), " ");
	ticks = strtoull(at, NULL, 10);
	coati_strbuf_fini(&text);
	return ticks;
}

#define SPOILED_MAX 20

void try_often(bool (*fn)(void))
{
	unsigned int made = 0, off = 0, spoiled = 0;
	enum odds_verdict verdict = ODDS_OPEN;

	while (verdict == ODDS_OPEN) {
		uint64_t before = stolen();
		bool ok = fn();

		coati_strbuf_fini(&profile.bytes);
		if (!ok && stolen() != before) {
			if (++spoiled > SPOILED_MAX)
				test_skip_need("quiet", "the host took CPU time from %u tries",
					       spoiled);
			continue;
		}
		off += !ok;
		verdict = odds_verdict(ODDS_USUAL, ++made, off);
	}
	test_note("%u of %u tries are off; the host took CPU time from %u more", off, made,
		  spoiled);
	CHECK_INT(verdict, ==, ODDS_PASSES);
}

static bool are_enough(const struct odds_share *shares, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (!odds_share_is_enough(&shares[i], nr, SHARE_ERROR))
			return false;
	return true;
}

void judge_shares(void (*fn)(struct odds_share *shares), unsigned int nr)
{
	struct odds_share shares[SHARES_JUDGED_MAX] = { 0 };
	bool fit = true;

	do {
		fn(shares);
		coati_strbuf_fini(&profile.bytes);
	} while (!are_enough(shares, nr));
	for (unsigned int i = 0; i < nr; i++) {
		test_note("share %u: %llu of %llu samples, %.1f expected", i,
			  (unsigned long long)shares[i].hits, (unsigned long long)shares[i].draws,
			  shares[i].expected);
		fit = odds_share_fits(&shares[i], nr) && fit;
	}
	CHECK(fit);
}

void start_sampler(uint32_t rate, enum coati_sampler_engine engine)
{
	struct coati_sampler_opts o = {
		.size = sizeof(o), .rate_hz = rate, .engine = engine, .flags = COATI_SAMPLER_NAMES
	};

	int r = coati_sampler_start(&o, &err);

	if (r == -EOPNOTSUPP || r == -EACCES || r == -EPERM)
		test_skip_need("perf", "%s", err.text);
	CHECK_OK(r);
}

void need_signals(void)
{
#ifdef UNDER_TSAN
	test_skip("TSan delivers signals late: samples are not where they were taken");
#endif
}

uint32_t top_rate_hz(void)
{
	return test_slow() ? 4000 : 10000;
}
