/* SPDX-License-Identifier: MIT */
/* see dump/batch.h */
#include "cli/dump/batch.h"

#include <string.h>

#include <coati/image.h>

#include "image/pack.h"
#include "record/batch.h"

static const char *kind_name(enum coati_batch_kind kind)
{
	switch (kind) {
	case COATI_BATCH_META:
		return "meta";
	case COATI_BATCH_TRACE:
		return "trace";
	case COATI_BATCH_SYMBOLS:
		return "symbols";
	case COATI_BATCH_STATS:
		return "stats";
	default:
		return "unknown";
	}
}

/* Lines key=value, each as a field. */
static void dump_facts(struct sink *s, const struct coati_batch *b)
{
	const char *at = (const char *)b->payload, *end = at + b->payload_size;

	coati_sink_object(s, "facts");
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		const char *equals = memchr(at, '=', len);
		struct strbuf key = STRBUF_INIT(256);

		if (equals && equals > at) {
			coati_strbuf_clean(&key, at, (size_t)(equals - at));
			coati_sink_textn(s, key.text, equals + 1, len - (size_t)(equals + 1 - at));
		}
		coati_strbuf_fini(&key);
		at += len + 1;
	}
	coati_sink_object_end(s);
}

/* The image whose names they are: the reader of such payloads says whether they make sense. */
static void dump_symbols(struct sink *s, const struct coati_batch *b)
{
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_LOCAL };
	struct coati_images *images = NULL;
	struct coati_image_info info = { .size = sizeof(info) };
	int n = coati_images_new(&o, &images, NULL);

	if (n == 0)
		n = coati_images_unpack(images, b->payload, b->payload_size);
	if (n == 0 && coati_image_info(images, 0, &info) == 0) {
		coati_sink_text(s, "image", info.path[0] ? info.path : info.name);
		if (info.build_id_size)
			coati_sink_bytes(s, "build_id", info.build_id, info.build_id_size);
	} else if (n < 0) {
		coati_sink_flag(s, "malformed");
	}
	coati_images_free(&images);
}

bool coati_dump_batch(struct sink *s, const struct coati_recording_event *e,
		      const struct coati_record *rec, uint32_t swap)
{
	struct coati_batch b;

	if (!e || strcmp(e->name, COATI_LIVE_EVENT) != 0 || coati_batch_decode(rec, swap, &b) < 0)
		return false;
	coati_sink_text(s, "batch", kind_name(b.kind));
	coati_sink_u64(s, "version", b.version);
	coati_sink_u64(s, "size", b.payload_size);
	if (b.kind == COATI_BATCH_META || b.kind == COATI_BATCH_STATS)
		dump_facts(s, &b);
	else if (b.kind == COATI_BATCH_SYMBOLS)
		dump_symbols(s, &b);
	return true;
}
