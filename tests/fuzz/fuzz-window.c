/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a recording that the agent makes: names and live events in it are those of any
 * program of the machine. The window of it becomes a parcel that every relay takes, with all
 * samples in its rows: no program has the windows of a machine refused.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/build.h"
#include "base/clock.h"
#include "fleet/bundle.h"
#include "fleet/encoder.h"
#include "fuzz/fuzz.h"

#define WALL_NS (UINT64_C(1794849700) * NSEC_PER_SEC)

static void describe(struct agent_window *w)
{
	w->sequence = 1;
	w->start_ns = 0;
	w->end_ns = 10 * NSEC_PER_SEC;
	w->wall_start_ns = WALL_NS;
	w->wall_end_ns = WALL_NS + w->end_ns;
	w->agent = "agent";
	w->host = "host";
}

/* As an agent sends it and a relay reads it. */
static void send_window(const struct agent_window *w)
{
	struct strbuf body = STRBUF_INIT(BUNDLE_BYTES);
	struct shipment h;
	struct encoder e;
	struct parcel p;
	struct bundle b;
	uint64_t inserts = 0;

	coati_encoder_init(&e, 8);
	FUZZ_CHECK(coati_encoder_window(&e, w, 0, &p) == 0);
	FUZZ_CHECK(p.samples == w->quality.samples && p.rows == w->nr_rows);
	FUZZ_CHECK(coati_shipment_init(&h, 1, &inserts) == 0 && coati_shipment_add(&h, &p, false));
	coati_bundle_write(&h, &body);
	FUZZ_CHECK(!body.failed && coati_bundle_read(&b, body.text, body.len, NULL) == 0);
	coati_bundle_fini(&b);
	coati_shipment_fini(&h);
	coati_encoder_fini(&e);
	coati_strbuf_fini(&body);
}

static void build(struct agent_feed *f, struct agent_live *live)
{
	struct service_rules rules = { 0 };
	struct agent_build b;
	uint64_t samples = 0, intervals = 0;

	coati_agent_build_init(&b);
	b.rules = &rules;
	b.max_services = 4;
	FUZZ_CHECK(coati_agent_build(&b, &f, 1, live, UINT64_MAX) == 0);
	describe(&b.window);
	for (uint32_t i = 0; i < b.window.nr_rows; i++) {
		const struct agent_row *r = &b.window.rows[i];

		if (b.window.events[r->event].is_off_cpu)
			intervals += r->samples;
		else
			samples += r->samples;
	}
	FUZZ_CHECK(samples == b.window.quality.samples);
	FUZZ_CHECK(intervals == b.window.quality.intervals);
	send_window(&b.window);
	coati_agent_build_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct coati_images_opts opts = { .size = sizeof(opts),
						       .procfs = "/nowhere",
						       .flags = COATI_IMAGES_NO_CACHE |
								COATI_IMAGES_NO_LOCAL };
	struct agent_feed_opts o = { .max_bytes = 32 << 20 };
	struct coati_images *images = NULL;
	struct agent_feed f = { 0 };
	struct agent_live live;
	int fd = memfd_create("recording", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size &&
		   lseek(fd, 0, SEEK_SET) == 0);
	FUZZ_CHECK(coati_agent_live_init(&live, NULL) == 0);
	FUZZ_CHECK(coati_images_new(&opts, &images, NULL) == 0);
	o.live = &live;
	o.images = images;
	if (coati_agent_feed_open(&f, fd, &o, NULL) == 0) {
		(void)coati_agent_feed_take(&f);
		(void)coati_agent_feed_end(&f);
		build(&f, &live);
	}
	coati_agent_feed_close(&f);
	coati_agent_live_fini(&live);
	coati_images_free(&images);
	return 0;
}
