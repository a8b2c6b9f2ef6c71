/* SPDX-License-Identifier: MIT */
/*
 * The code of this process as records of a recording: its name and a mapping for each file that is
 * loaded, with its build id, so that stacks in a stream or a snapshot have names wherever they are
 * read. Ordinary code.
 */
#include "live/tracer/carry.h"

#include <link.h>
#include <string.h>

#include <coati/recording.h>

#include "live/pprof/maps.h"
#include "live/tracer/tracer.h"
#include "record/batch.h"

#define ID_BYTES     20u
#define PROT_CODE    5u /* read and execute */
#define MAP_PRIVATE_ 2u
#define PATH_BYTES   4096u

/* What stands behind every record but samples: sample_id_all of coati_batch_attr(). */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

struct header {
	uint32_t type;
	uint16_t misc, size;
	uint32_t pid, tid;
};

struct mapping {
	uint64_t addr, len, offset;
	uint8_t id_size, reserved[3], id[ID_BYTES];
	uint32_t prot, flags;
};

/* Of the text and at least one zero, as a multiple of 8. */
static size_t padded(const char *text)
{
	return (strlen(text) + 8) & ~(size_t)7;
}

/* What stands between the header and the trailer. */
struct content {
	const void *body;
	size_t size;
	const char *text;
};

static void add_record(struct strbuf *out, struct header *h, struct content c, uint64_t time_ns)
{
	struct trailer t = { .pid = coati_tracer.pid,
			     .tid = coati_tracer.pid,
			     .time_ns = time_ns,
			     .id = COATI_LIVE_ID };

	h->pid = h->tid = coati_tracer.pid;
	h->size = (uint16_t)(sizeof(*h) + c.size + padded(c.text) + sizeof(t));
	coati_strbuf_add(out, h, sizeof(*h));
	coati_strbuf_add(out, c.body, c.size);
	coati_strbuf_add(out, c.text, strlen(c.text));
	coati_strbuf_pad(out, '\0', padded(c.text) - strlen(c.text));
	coati_strbuf_add(out, &t, sizeof(t));
}

static uint8_t from_hex(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void add_mapping(struct strbuf *out, const struct live_mapping *m, uint64_t time_ns)
{
	struct header h = { .type = COATI_RECORD_MMAP2, .misc = COATI_MISC_USER };
	struct mapping body = { .addr = m->start,
				.len = m->end - m->start,
				.offset = m->offset,
				.prot = PROT_CODE,
				.flags = MAP_PRIVATE_ };

	for (; body.id_size < ID_BYTES && m->build_id[2 * body.id_size]; body.id_size++)
		body.id[body.id_size] = (uint8_t)(from_hex(m->build_id[2 * body.id_size]) << 4 |
						  from_hex(m->build_id[2 * body.id_size + 1]));
	if (body.id_size)
		h.misc |= COATI_MISC_MMAP_BUILD_ID;
	if (m->path[0] && strlen(m->path) < PATH_BYTES)
		add_record(out, &h, (struct content){ &body, sizeof(body), m->path }, time_ns);
}

void coati_tracer_carry_maps(struct strbuf *out, uint64_t time_ns)
{
	struct header h = { .type = COATI_RECORD_COMM, .misc = COATI_MISC_USER };
	char comm[sizeof(coati_tracer.map->comm) + 1] = "";
	struct live_maps maps;

	memcpy(comm, coati_tracer.map->comm, sizeof(coati_tracer.map->comm));
	add_record(out, &h, (struct content){ "", 0, comm }, time_ns);
	if (coati_maps_open(&maps) < 0)
		return; /* stacks stay numbers */
	for (uint32_t i = 0; i < maps.len; i++)
		add_mapping(out, &maps.list[i], time_ns);
	coati_maps_close(&maps);
}

static int take_count(struct dl_phdr_info *info, size_t size, void *ret)
{
	*(uint64_t *)ret = (uint64_t)info->dlpi_adds;
	return 1;
}

uint64_t coati_tracer_loaded(void)
{
	uint64_t adds = 0;

	dl_iterate_phdr(take_count, &adds);
	return adds;
}
