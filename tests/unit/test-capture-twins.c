/* SPDX-License-Identifier: MIT */
/* Ids of samples that the kernel gave to several events at once: each gets that of the event of its
 * ring. */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include <coati/record.h>

#include "base/alloc.h"
#include "base/writer.h"
#include "capture/attr.h"
#include "capture/twins.h"

#define OFF_ID	   11 /* switches with copies of stacks */
#define OFF_ID_2   12 /* the same event in another thread */
#define FAST_ID	   21
#define CLOCK_ID   31
#define FAULT_ID   41 /* page faults, in a lane of their own */
#define FOREIGN_ID 99

static struct coati_capture *make(void)
{
	struct coati_capture *cap = calloc(1, sizeof(*cap));
	static const uint64_t own[] = { OFF_ID, OFF_ID_2, FAST_ID, CLOCK_ID, FAULT_ID };

	CHECK(cap);
	coati_map_init(&cap->own_ids, 100);
	coati_map_init(&cap->off_ids, 100);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		CHECK(coati_map_put(&cap->own_ids, own[i], 1) >= 0);
	CHECK(coati_map_put(&cap->off_ids, OFF_ID, SET_OFF) >= 0);
	CHECK(coati_map_put(&cap->off_ids, OFF_ID_2, SET_OFF) >= 0);
	CHECK(coati_map_put(&cap->off_ids, FAST_ID, SET_OFF_FAST) >= 0);
	cap->twins.ids[0] = OFF_ID;
	cap->twins.fast_id = FAST_ID;
	cap->twins.has_switches = true;
	cap->twins.ids[1] = FAULT_ID;
	/* copies from 1000 to 2000 and from 3000 on */
	cap->off.copies[0] = (struct off_copies){ 1000, 2000 };
	cap->off.copies[1] = (struct off_copies){ 3000, UINT64_MAX };
	cap->off.nr_copies = 2;
	return cap;
}

static void free_capture(struct coati_capture *cap)
{
	coati_map_fini(&cap->own_ids);
	coati_map_fini(&cap->off_ids);
	coati_free(cap->twins.copy);
	free(cap);
}

static void put_record(struct writer *w, uint32_t type, uint64_t id, uint64_t time)
{
	writer_u32(w, type);
	writer_u16(w, COATI_MISC_USER);
	writer_u16(w, 64);
	writer_u64(w, id);
	writer_u64(w, 0x1000);
	writer_u64(w, 0);
	writer_u64(w, time);
	writer_zeros(w, 24);
}

static const struct {
	uint8_t lane;
	uint64_t time, id, want;
} cases[] = {
	/* while copies are taken alone, a switch of another recorder is one with a copy */
	{ 0, 1500, FOREIGN_ID, OFF_ID },
	{ 0, 1500, OFF_ID_2, OFF_ID_2 },
	{ 0, 3000, FOREIGN_ID, OFF_ID },
	/* else it has none, and what carries the id of the other one has none either */
	{ 0, 2000, FOREIGN_ID, FAST_ID },
	{ 0, 2500, OFF_ID, FAST_ID },
	{ 0, 2500, OFF_ID_2, FAST_ID },
	{ 0, 2500, FAST_ID, FAST_ID },
	{ 0, 999, FOREIGN_ID, FAST_ID },
	/* other events stay what they are */
	{ 0, 1500, CLOCK_ID, CLOCK_ID },
	{ 0, 2500, CLOCK_ID, CLOCK_ID },
	{ 1, 1500, FOREIGN_ID, FAULT_ID },
	{ 1, 1500, FAULT_ID, FAULT_ID },
};
#define NR_CASES (sizeof(cases) / sizeof(cases[0]))

static uint64_t id_at(const uint8_t *record)
{
	uint64_t id;

	memcpy(&id, record + CAPTURE_ID_AT, sizeof(id));
	return id;
}

TEST(capture_twins_get_the_id_of_their_ring_and_time)
{
	struct coati_capture *cap = make();
	_Alignas(8) uint8_t record[64];

	for (size_t i = 0; i < NR_CASES; i++) {
		struct writer w = writer_over(record, sizeof(record));
		const uint8_t *got;

		put_record(&w, COATI_RECORD_SAMPLE, cases[i].id, cases[i].time);
		got = coati_twins_claim(cap, cases[i].lane, record);
		CHECK_U64(id_at(got), ==, cases[i].want);
		CHECK((got == record) == (cases[i].id == cases[i].want));
	}
	free_capture(cap);
}

TEST(capture_twins_are_told_apart_wherever_a_ring_wraps)
{
	struct coati_capture *cap = make();
	_Alignas(8) uint8_t ring[16 * 64];

	for (size_t cut = 0; cut <= sizeof(ring); cut += 8) {
		struct writer w = writer_over(ring, sizeof(ring));
		struct coati_span first = { ring, cut }, second;
		size_t nr = 0;

		for (size_t i = 0; i < NR_CASES; i++)
			if (!cases[i].lane) {
				put_record(&w, COATI_RECORD_SAMPLE, cases[i].id, cases[i].time);
				nr++;
			}
		/* what is no sample has no id there */
		put_record(&w, COATI_RECORD_COMM, FOREIGN_ID, 1500);
		if (cut > w.len)
			break;
		second = (struct coati_span){ ring + cut, w.len - cut };
		CHECK_OK(coati_twins_claim_spans(cap, (struct twins_ring){ 0 }, &first, &second));
		CHECK_U64(first.size + second.size, ==, w.len);
		for (size_t i = 0, k = 0; i < NR_CASES; i++)
			if (!cases[i].lane)
				CHECK_U64(id_at(first.bytes + 64 * k++), ==, cases[i].want);
		CHECK_U64(id_at(first.bytes + 64 * nr), ==, FOREIGN_ID);
	}
	free_capture(cap);
}

TEST(capture_forgets_when_copies_were_taken_long_ago)
{
	struct off_cpu o = { .nr_copies = OFF_COPIES + 1 };

	for (uint64_t i = 0; i < OFF_COPIES + 1; i++)
		o.copies[i % OFF_COPIES] = (struct off_copies){ 100 * i, 100 * i + 50 };
	CHECK(!coati_off_cpu_copies_at(&o, 10));
	for (uint64_t i = 1; i < OFF_COPIES + 1; i++) {
		CHECK(coati_off_cpu_copies_at(&o, 100 * i));
		CHECK(coati_off_cpu_copies_at(&o, 100 * i + 49));
		CHECK(!coati_off_cpu_copies_at(&o, 100 * i + 50));
	}
	CHECK(!coati_off_cpu_copies_at(&(struct off_cpu){ 0 }, 0));
}

/* A record that is no sample: a switch with its time in the trailer. */
static void put_switch(struct writer *w, bool out, uint64_t time)
{
	writer_u32(w, COATI_RECORD_SWITCH);
	writer_u16(w, out ? COATI_MISC_SWITCH_OUT : 0);
	writer_u16(w, 40);
	writer_u64(w, 0);
	writer_u64(w, time);
	writer_u64(w, 0);
	writer_u64(w, CLOCK_ID);
}

static uint64_t time_at(const uint8_t *record)
{
	uint64_t time;

	memcpy(&time, record + CAPTURE_TIME_AT, sizeof(time));
	return time;
}

/* What a sample by the clock of another recorder gets as its time, between a switch in at 1100
 * (@known: seen before) and one out at 1200. */
static uint64_t shifted_by(struct coati_capture *cap, uint64_t id, uint64_t time, uint64_t known)
{
	_Alignas(8) uint8_t ring[256];
	struct writer w = writer_over(ring, sizeof(ring));
	struct coati_span first = { ring, 0 }, second = { ring, 0 };
	uint64_t last = known, got;

	if (!known)
		put_switch(&w, false, 1100);
	put_record(&w, COATI_RECORD_SAMPLE, id, time);
	put_switch(&w, true, 1200);
	first.size = w.len;
	CHECK_OK(coati_twins_claim_spans(cap, (struct twins_ring){ .last_time = &last }, &first,
					 &second));
	got = time_at(first.bytes + (known ? 0 : 40));
	CHECK_U64(last, ==, 1200);
	free_capture(cap);
	return got;
}

static uint64_t shifted(uint64_t id, uint64_t time, uint64_t known)
{
	return shifted_by(make(), id, time, known);
}

/* A kernel symbol or a BPF program of which the kernel says that it is @more bytes longer; there
 * lies what was in the ring before. */
static void put_grown(struct writer *w, uint32_t type, size_t name, size_t more)
{
	static const char text[] = "bpf_prog_d6caeb6515528d77_on_sample_and_more";
	size_t body = type == COATI_RECORD_KSYMBOL ? 24 + (name / 8 + 1) * 8 : 24;

	writer_u32(w, type);
	writer_u16(w, 0);
	writer_u16(w, (uint16_t)(body + 32 + more));
	writer_u64(w, 0xffffffffc0036258);
	writer_u64(w, 0x100000383);
	if (type == COATI_RECORD_KSYMBOL) {
		writer_bytes(w, text, name);
		writer_zeros(w, body - 24 - name);
	}
	writer_u32(w, 4070);
	writer_u32(w, 4071);
	writer_u64(w, 1110);
	writer_u64(w, 1);
	writer_u64(w, CLOCK_ID);
	for (size_t i = 0; i < more; i += 8)
		writer_u64(w, UINT64_C(0x7b0b0b0d0d018200) + i);
}

/* The record as readers see it: its trailer at the end, and nothing but zeros in front of that. */
static void check_trailer(const uint8_t *record, size_t body, size_t size)
{
	static const uint32_t thread[] = { 4070, 4071 };
	static const uint64_t rest[] = { 1110, 1, CLOCK_ID };

	CHECK_MEM(record + size - 32, thread, sizeof(thread));
	CHECK_MEM(record + size - 24, rest, sizeof(rest));
	for (size_t i = body; i < size - 32; i++)
		CHECK_INT(record[i], ==, 0);
}

/*
 * Records that the kernel made too long for the second recorder: time and id are not those of the
 * rest behind them. A switch behind it keeps its time, which it would get from there otherwise.
 */
static void check_grown(uint32_t type, size_t name, size_t more, size_t cut)
{
	size_t body = type == COATI_RECORD_KSYMBOL ? 24 + (name / 8 + 1) * 8 : 24;
	_Alignas(8) uint8_t ring[512];
	struct writer w = writer_over(ring, sizeof(ring));
	struct coati_span first = { ring, cut }, second = { ring + cut, 0 };
	struct coati_capture *cap = make();
	uint64_t last = 1100;

	put_grown(&w, type, name, more);
	put_record(&w, COATI_RECORD_SAMPLE, OFF_ID, 1150);
	put_switch(&w, true, 1200);
	CHECK(!w.full && cut <= w.len);
	second.size = w.len - cut;
	CHECK_OK(coati_twins_claim_spans(cap, (struct twins_ring){ .last_time = &last }, &first,
					 &second));
	CHECK_U64(last, ==, 1200);
	if (more) {
		CHECK_INT(first.size, ==, w.len);
		check_trailer(first.bytes, body, body + 32 + more);
		CHECK_U64(time_at(first.bytes + body + 32 + more), ==, 1150);
	} else {
		CHECK(first.bytes == ring && first.size == cut);
	}
	free_capture(cap);
}

TEST(capture_of_records_that_grew_for_another_recorder_finds_their_trailers)
{
	for (size_t more = 0; more <= 128; more += 32)
		for (size_t cut = 0; cut <= 160; cut += 8) {
			check_grown(COATI_RECORD_BPF_EVENT, 0, more, cut);
			for (size_t name = 0; name <= 40; name += 5)
				check_grown(COATI_RECORD_KSYMBOL, name, more, cut);
		}
}

/* Also where no event can have a twin; and the trailer of no event of ours is left alone. */
TEST(capture_without_twins_finds_trailers_too)
{
	_Alignas(8) uint8_t ring[256];
	struct writer w = writer_over(ring, sizeof(ring));
	struct coati_span first = { ring, 0 }, second = { ring, 0 };
	struct coati_capture *cap = make();
	uint64_t last = 0, foreign = FOREIGN_ID;

	cap->twins.ids[0] = cap->twins.fast_id = 0;
	cap->twins.has_switches = false;
	put_grown(&w, COATI_RECORD_BPF_EVENT, 0, 40);
	put_record(&w, COATI_RECORD_SAMPLE, FOREIGN_ID, 1150);
	first.size = w.len;
	CHECK_OK(coati_twins_claim_spans(cap, (struct twins_ring){ .last_time = &last }, &first,
					 &second));
	CHECK(first.bytes != ring);
	check_trailer(first.bytes, 24, 96);
	CHECK_U64(id_at(first.bytes + 96), ==, FOREIGN_ID);
	memcpy(ring + 24 + 24, &foreign, sizeof(foreign));
	first = (struct coati_span){ ring, w.len };
	CHECK_OK(coati_twins_claim_spans(cap, (struct twins_ring){ .last_time = &last }, &first,
					 &second));
	CHECK(first.bytes == ring);
	free_capture(cap);
}

static uint64_t shifted_without_fast(uint64_t time)
{
	struct coati_capture *cap = make();

	cap->twins.fast_id = 0;
	return shifted_by(cap, FOREIGN_ID, time, 0);
}

TEST(capture_twins_keep_their_times_between_those_of_their_ring)
{
	static const uint64_t ids[] = { OFF_ID, FAST_ID, FOREIGN_ID };

	for (size_t i = 0; i < 3; i++) {
		CHECK_U64(shifted(ids[i], 1150, 0), ==, 1150);
		CHECK_U64(shifted(ids[i], 1100, 0), ==, 1100);
		CHECK_U64(shifted(ids[i], 1200, 0), ==, 1200);
		CHECK_U64(shifted(ids[i], 1099, 0), ==, 1100);
		CHECK_U64(shifted(ids[i], 5, 0), ==, 1100);
		CHECK_U64(shifted(ids[i], UINT64_C(1) << 60, 0), ==, 1200);
		/* what was in the ring before counts, too */
		CHECK_U64(shifted(ids[i], 5, 1100), ==, 1100);
	}
	/* where all switches come with copies, too */
	CHECK_U64(shifted_without_fast(5), ==, 1100);
	/* the clocks of other events are their own */
	CHECK_U64(shifted(CLOCK_ID, 1099, 0), ==, 1099);
}
