/* SPDX-License-Identifier: MIT */
/* A recorder that writes to a descriptor: complete generations, each once. Ordinary code. */
#include "live/tracer/recorder.h"

#include <errno.h>

#include "base/file.h"
#include "base/strbuf.h"
#include "live/tracer/carry.h"
#include "live/tracer/output.h"

void coati_recorder_stream(struct coati_recorder *rec)
{
	struct strbuf bytes = STRBUF_INIT(UINT64_C(1) << 32);
	uint64_t loaded;
	int r;

	for (; rec->from <= coati_tracer.newest; rec->from++) {
		coati_strbuf_clear(&bytes);
		if (!rec->begun)
			coati_tracer_carry_head(&bytes);
		loaded = coati_tracer_loaded();
		if (!rec->begun || loaded != rec->loaded) /* code that may run from now on */
			coati_tracer_carry_maps(
				&bytes,
				rec->begun ? coati_tracer_generation(rec->from)->pair_ns : 0);
		r = coati_tracer_generation_bytes(rec->from, true, &bytes);
		if (r == -ENOENT && rec->from >= tracer_oldest())
			break; /* not complete yet */
		if (!r && !rec->error) {
			rec->begun = true;
			rec->loaded = loaded;
			r = coati_write_all(rec->fd, bytes.text, bytes.len);
		}
		if (r < 0 && r != -ENOENT && !rec->error)
			rec->error = r;
	}
	coati_strbuf_fini(&bytes);
}
