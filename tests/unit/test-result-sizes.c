/* SPDX-License-Identifier: MIT */
/* Every function of the public headers that fills in results: what it does with their size. */
#include "lib/test.h"

#include <errno.h>

#include <coati/capture.h>
#include <coati/child.h>
#include <coati/frames.h>
#include <coati/heap.h>
#include <coati/image.h>
#include <coati/live.h>
#include <coati/locks.h>
#include <coati/profile.h>
#include <coati/recording.h>
#include <coati/ring.h>
#include <coati/sampler.h>
#include <coati/serve.h>
#include <coati/trace.h>
#include <coati/tracer.h>

#include "base/alloc.h"
#include "capture/capture.h"
#include "lib/fake-ring.h"
#include "reading/parts.h"
#include "unit/profbuf-pair.h"
#include "unit/profile-tape.h"

#define ROOM   2048
#define FILLER 0x5a

static struct coati_profile *profile;
static struct coati_view *view;
static struct coati_recording *recording;
static struct coati_ring *ring;
static struct coati_reader *reader;
static struct coati_capture capture;
static struct coati_trace *trace;
static struct coati_recorder *recorder;
static struct coati_child *child;
static struct pair pair;

/* Functions with one object and results. */
#define GETTER(name, object)                     \
	static int get_##name(void *ret)         \
	{                                        \
		return coati_##name(object ret); \
	}
#define OF(object) object,
GETTER(capture_get_stats, OF(&capture))
GETTER(profile_quality, OF(profile))
GETTER(view_info, OF(view))
GETTER(recording_get_stats, OF(recording))
GETTER(ring_get_stats, OF(ring))
GETTER(reader_get_stats, OF(reader))
GETTER(trace_get_quality, OF(trace))
GETTER(recorder_stats, OF(recorder))
GETTER(profbuf_get_stats, OF(pair.buf))
GETTER(heap_stats, )
GETTER(locks_stats, )
GETTER(labels_stats, )
GETTER(frame_stats, OF("frames"))

static int get_child_wait(void *ret)
{
	return coati_child_wait(child, -1, ret, NULL);
}

static int get_image_info(void *ret)
{
	return coati_image_info(coati_profile_images(profile), 0, ret);
}

static const struct getter {
	const char *name;
	int (*get)(void *ret);
} getters[] = {
	{ "coati_capture_get_stats", get_capture_get_stats },
	{ "coati_profile_quality", get_profile_quality },
	{ "coati_view_info", get_view_info },
	{ "coati_recording_get_stats", get_recording_get_stats },
	{ "coati_ring_get_stats", get_ring_get_stats },
	{ "coati_reader_get_stats", get_reader_get_stats },
	{ "coati_trace_get_quality", get_trace_get_quality },
	{ "coati_recorder_stats", get_recorder_stats },
	{ "coati_profbuf_get_stats", get_profbuf_get_stats },
	{ "coati_heap_stats", get_heap_stats },
	{ "coati_locks_stats", get_locks_stats },
	{ "coati_labels_stats", get_labels_stats },
	{ "coati_frame_stats", get_frame_stats },
	{ "coati_child_wait", get_child_wait },
	{ "coati_image_info", get_image_info },
};

static void open_all(struct fake_ring *fake)
{
	static const char *const argv[] = { "true", NULL };
	struct coati_recorder_opts rec = { .size = sizeof(rec),
					   .bytes = 4 << 20,
					   .directory = "rec" };
	struct coati_profbuf_opts buf = { .size = sizeof(buf) };
	static struct coati_frames frames = { .site = { .name = "frames" } };
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, .tid = 10, TAPE_STACK(TAPE_LEAF) });
	tape_close(&t);
	profile = tape_profile("a");
	view = tape_view(profile, NULL);
	CHECK_OK(coati_recording_open("a", NULL, &recording, NULL));
	CHECK_OK(coati_trace_open("a", NULL, &trace, NULL));
	fake_ring_init(fake, COATI_RING_FORWARD, 4096, 0);
	ring = fake_ring_open(fake, 0);
	CHECK_OK(coati_reader_new(NULL, &reader, NULL));
	capture.images = coati_profile_images(profile);
	CHECK_OK(coati_recorder_start(&rec, &recorder, NULL));
	coati_frame_mark(&frames);
	pair_open(&pair, &buf, 0);
	CHECK_OK(coati_child_start(argv, NULL, &child, NULL));
	CHECK_OK(coati_child_exec(child, NULL));
}

static void close_all(struct fake_ring *fake)
{
	coati_child_free(&child);
	pair_close(&pair);
	CHECK_OK(coati_recorder_stop(&recorder, NULL));
	coati_reader_free(&reader);
	coati_ring_close(&ring);
	fake_ring_fini(fake);
	coati_trace_close(&trace);
	coati_recording_close(&recording);
	coati_view_free(&view);
	coati_profile_free(&profile);
}

/* Results with this size, and filler behind it. */
static int ask(const struct getter *g, uint64_t size, uint8_t *ret)
{
	memset(ret, FILLER, ROOM);
	memcpy(ret, &size, sizeof(size));
	return g->get(ret);
}

static void check_filler(const struct getter *g, const uint8_t *from, const uint8_t *end)
{
	for (; from < end; from++)
		if (*from != FILLER)
			test_fail_at(__FILE__, __LINE__, "%s wrote where there is no room",
				     g->name);
}

static void check_code(const struct getter *g, uint64_t size, int code, int wanted)
{
	if (code != wanted)
		test_fail_at(__FILE__, __LINE__, "%s with size %llu returned %d, not %d", g->name,
			     (unsigned long long)size, code, wanted);
}

TEST(results_whose_size_was_forgotten_or_has_no_room_are_refused_by_every_function)
{
	static const uint64_t wrong[] = { 0, 1, sizeof(uint64_t) - 1, sizeof(uint64_t), 1 << 20 };
	struct fake_ring fake;
	uint8_t ret[ROOM];

	open_all(&fake);
	for (size_t i = 0; i < sizeof(getters) / sizeof(*getters); i++)
		for (size_t k = 0; k < sizeof(wrong) / sizeof(*wrong); k++) {
			check_code(&getters[i], wrong[k], ask(&getters[i], wrong[k], ret), -EINVAL);
			check_filler(&getters[i], ret + sizeof(uint64_t), ret + ROOM);
		}
	close_all(&fake);
}

TEST(results_of_an_older_and_of_a_newer_header_are_filled_by_every_function)
{
	struct fake_ring fake;
	uint8_t ret[ROOM];
	uint64_t size;

	open_all(&fake);
	for (size_t i = 0; i < sizeof(getters) / sizeof(*getters); i++) {
		const struct getter *g = &getters[i];

		check_code(g, 16, ask(g, 16, ret), 0);
		check_filler(g, ret + 16, ret + ROOM);
		check_code(g, ROOM, ask(g, ROOM, ret), 0);
		memcpy(&size, ret, sizeof(size));
		CHECK_U64(size, ==, ROOM);
		CHECK_INT(ret[ROOM - 1], ==, 0);
	}
	close_all(&fake);
}

TEST(sampler_runs_on_when_its_statistics_have_no_size)
{
	struct coati_sampler_stats stats = { .samples = 77 };

	CHECK_INT(coati_sampler_stop(-1, &stats, NULL), ==, -EINVAL);
	CHECK_U64(stats.samples, ==, 77);
	CHECK_INT(coati_sampler_stop(-1, NULL, NULL), ==, -ESRCH);
}

TEST(serve_answer_without_a_size_is_refused)
{
	struct coati_serve_request q = { sizeof(q), "GET / HTTP/1.0\r\n\r\n", 18 };
	struct coati_serve_response r = { 0 };

	CHECK_INT(coati_serve_answer(&q, &r), ==, -EINVAL);
}
