/* SPDX-License-Identifier: MIT */
/* Events, names and the facts of the feature sections. */
#include "recording/model.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "record/event-name.h"
#include "record/record.h"
#include "recording/recording.h"
#include "recording/simpleperf.h"

#define STRING_MAX 65536
#define ARGS_MAX   65536

void coati_damage_add(struct damage *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d->count++)
		return;
	va_start(ap, fmt);
	coati_vfail(&d->first, code, fmt, ap);
	va_end(ap);
}

const char *coati_model_feature_name(uint32_t bit)
{
	static const char *const names[] = {
		[COATI_FEATURE_TRACING_DATA] = "TRACING_DATA",
		[COATI_FEATURE_BUILD_ID] = "BUILD_ID",
		[COATI_FEATURE_HOSTNAME] = "HOSTNAME",
		[COATI_FEATURE_OSRELEASE] = "OSRELEASE",
		[COATI_FEATURE_VERSION] = "VERSION",
		[COATI_FEATURE_ARCH] = "ARCH",
		[COATI_FEATURE_NRCPUS] = "NRCPUS",
		[COATI_FEATURE_CPUDESC] = "CPUDESC",
		[COATI_FEATURE_CPUID] = "CPUID",
		[COATI_FEATURE_TOTAL_MEM] = "TOTAL_MEM",
		[COATI_FEATURE_CMDLINE] = "CMDLINE",
		[COATI_FEATURE_EVENT_DESC] = "EVENT_DESC",
		[COATI_FEATURE_GROUP_DESC] = "GROUP_DESC",
		[COATI_FEATURE_SAMPLE_TIME] = "SAMPLE_TIME",
		[COATI_FEATURE_CLOCKID] = "CLOCKID",
		[COATI_FEATURE_CLOCK_DATA] = "CLOCK_DATA",
	};

	return bit < sizeof(names) / sizeof(names[0]) && names[bit] ? names[bit] : "?";
}

int coati_model_init(struct model *m)
{
	*m = (struct model){ .events = ARRAY_INIT(MODEL_EVENTS_MAX),
			     .formats = ARRAY_INIT(MODEL_EVENTS_MAX) };
	m->info = (struct coati_recording_info){ .hostname = "",
						 .os_release = "",
						 .version = "",
						 .arch = "",
						 .cpu_desc = "",
						 .cpuid = "",
						 .clockid = -1 };
	coati_arena_init(&m->arena, MODEL_ARENA_MAX);
	return coati_format_table_new(&m->table);
}

void coati_model_fini(struct model *m)
{
	coati_format_table_free(m->table);
	ARRAY_FINI(&m->events);
	ARRAY_FINI(&m->formats);
	coati_arena_fini(&m->arena);
}

static uint64_t reverse_bits_in_bytes(uint64_t v)
{
	v = (v & 0x5555555555555555u) << 1 | (v >> 1 & 0x5555555555555555u);
	v = (v & 0x3333333333333333u) << 2 | (v >> 2 & 0x3333333333333333u);
	return (v & 0x0f0f0f0f0f0f0f0fu) << 4 | (v >> 4 & 0x0f0f0f0f0f0f0f0fu);
}

/* Compilers number bitfields from the other end on the other byte order: the word must not be
 * swapped as a number, but the bits in each of its bytes. The one field of two bits comes out with
 * its bits exchanged. */
static uint64_t swapped_flags(uint64_t as_number)
{
	uint64_t v = reverse_bits_in_bytes(__builtin_bswap64(as_number));
	uint64_t precise = (v & COATI_ATTR_PRECISE_MASK) >> COATI_ATTR_PRECISE_SHIFT;

	precise = (precise & 1) << 1 | precise >> 1;
	return (v & ~COATI_ATTR_PRECISE_MASK) | COATI_ATTR_PRECISE(precise);
}

/* A field that an older writer did not know is past the end: zero. */
static uint64_t opt_u64(struct cursor *c)
{
	return cursor_left(c) >= 8 ? cursor_u64(c) : 0;
}

static uint32_t opt_u32(struct cursor *c)
{
	return cursor_left(c) >= 4 ? cursor_u32(c) : 0;
}

int coati_model_attr(struct cursor *c, size_t size, struct coati_attr *ret)
{
	struct cursor a = cursor_sub(c, size);
	struct coati_attr t = { 0 };

	if (a.bad || size < COATI_ATTR_SIZE_VER0)
		return -EBADMSG;
	t.type = cursor_u32(&a);
	t.size = cursor_u32(&a);
	t.config = cursor_u64(&a);
	t.sample_period = cursor_u64(&a);
	t.sample_type = cursor_u64(&a);
	t.read_format = cursor_u64(&a);
	t.flags = cursor_u64(&a);
	t.wakeup = cursor_u32(&a);
	t.bp_type = cursor_u32(&a);
	t.config1 = cursor_u64(&a);
	t.config2 = opt_u64(&a);
	t.branch_sample_type = opt_u64(&a);
	t.sample_regs_user = opt_u64(&a);
	t.sample_stack_user = opt_u32(&a);
	t.clockid = (int32_t)opt_u32(&a);
	t.sample_regs_intr = opt_u64(&a);
	t.aux_watermark = opt_u32(&a);
	t.sample_max_stack = cursor_left(&a) >= 4 ? cursor_u16(&a) : 0;
	t.reserved_2 = cursor_left(&a) >= 2 ? cursor_u16(&a) : 0;
	t.aux_sample_size = opt_u32(&a);
	t.aux_action = opt_u32(&a);
	t.sig_data = opt_u64(&a);
	t.config3 = opt_u64(&a);
	t.config4 = opt_u64(&a);
	if (a.swap)
		t.flags = swapped_flags(t.flags);
	*ret = t;
	return a.bad ? -EBADMSG : 0;
}

int coati_model_add_event(struct model *m, const struct coati_attr *attr, struct cursor *ids)
{
	uint64_t nr = cursor_left(ids) / 8;
	uint32_t index = (uint32_t)m->events.len;
	struct coati_recording_event *e;
	uint64_t *copy;
	int r;

	if (nr > MODEL_IDS_MAX - m->nr_ids)
		return -E2BIG;
	copy = coati_arena_alloc(&m->arena, nr * 8);
	e = copy ? ARRAY_ADD(&m->events) : NULL;
	if (!e)
		return -ENOMEM;
	for (uint64_t i = 0; i < nr; i++)
		copy[i] = cursor_u64(ids);
	m->nr_ids += nr;
	*e = (struct coati_recording_event){
		.attr = *attr, .ids = copy, .nr_ids = (uint32_t)nr, .group_leader = -1
	};
	/* until the file gives it a name, if it does */
	e->name = coati_event_usual_name(attr->type, attr->config);
	if (!e->name)
		e->name = coati_arena_printf(&m->arena, "event %u", index);
	r = e->name ? coati_format_table_add(m->table, attr) : -ENOMEM;
	for (uint64_t i = 0; r >= 0 && i < nr; i++) {
		r = coati_format_table_id(m->table, copy[i], index);
		/* the first one keeps it; a contradicting file does not stop us */
		if (r == -EEXIST)
			r = 0;
	}
	return r < 0 ? r : 0;
}

/* u32 length, then that many bytes, zero-padded: a terminated copy. The terminator is not
 * trusted. */
static const char *get_string(struct model *m, struct cursor *c)
{
	uint32_t size = cursor_u32(c);
	const char *p = cursor_bytes(c, size);

	if (!p || size > STRING_MAX) {
		c->bad = true;
		return "";
	}
	return coati_arena_strndup(&m->arena, p, strnlen(p, size));
}

static void set_string(struct model *m, struct cursor *c, const char **ret)
{
	const char *s = get_string(m, c);

	if (!c->bad && s)
		*ret = s;
}

static void read_cmdline(struct model *m, struct cursor *c)
{
	uint32_t nr = cursor_u32(c);
	const char **args;

	if (c->bad || nr > ARGS_MAX || nr > cursor_left(c) / 4) {
		c->bad = true;
		return;
	}
	args = coati_arena_alloc(&m->arena, nr * sizeof(*args));
	if (!args)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		args[i] = get_string(m, c);
		if (c->bad || !args[i])
			return;
	}
	m->info.args = args;
	m->info.nr_args = nr;
}

static struct coati_recording_event *event_with_id(struct model *m, uint64_t id)
{
	uint32_t index;

	return coati_format_table_find_id(m->table, id, &index) == 0 ? &m->events.v[index] : NULL;
}

/* Names of the events: in the order of the attrs, checked by their ids where they have some. In a
 * pipe the section may be the only place of the ids. */
static void read_event_desc(struct model *m, struct cursor *c)
{
	uint32_t nr = cursor_u32(c), attr_size = cursor_u32(c);

	for (uint32_t i = 0; i < nr && !c->bad; i++) {
		struct coati_recording_event *e = NULL;
		struct coati_attr attr;
		const char *name;
		uint32_t nr_ids;
		uint64_t id = 0;

		if (coati_model_attr(c, attr_size, &attr) < 0) {
			c->bad = true;
			return;
		}
		nr_ids = cursor_u32(c);
		name = get_string(m, c);
		for (uint32_t k = 0; k < nr_ids && !c->bad; k++) {
			id = cursor_u64(c);
			if (!e)
				e = event_with_id(m, id);
		}
		if (!e && i < m->events.len)
			e = &m->events.v[i];
		if (e && !c->bad && name && *name)
			e->name = name;
	}
}

static void read_groups(struct model *m, struct cursor *c)
{
	uint32_t nr = cursor_u32(c), next = 0;

	for (uint32_t i = 0; i < nr && !c->bad; i++) {
		uint32_t leader, members;

		get_string(m, c);
		leader = cursor_u32(c);
		members = cursor_u32(c);
		/* groups stand in the order of their leaders and share no member */
		if (leader < next || leader >= m->events.len || members > m->events.len - leader)
			c->bad = true;
		if (c->bad)
			return;
		next = leader + members;
		for (uint32_t k = 0; k < members; k++)
			m->events.v[leader + k].group_leader = (int32_t)leader;
	}
}

static void read_clock_data(struct model *m, struct cursor *c)
{
	cursor_skip(c, 4); /* version */
	m->info.clockid = (int32_t)cursor_u32(c);
	m->info.wall_ns = cursor_u64(c);
	m->info.clock_ns = cursor_u64(c);
}

static void read_nrcpus(struct model *m, struct cursor *c)
{
	m->info.nr_cpus_available = cursor_u32(c);
	m->info.nr_cpus_online = cursor_u32(c);
}

static void read_sample_time(struct model *m, struct cursor *c)
{
	m->info.first_time = cursor_u64(c);
	m->info.last_time = cursor_u64(c);
}

/* simpleperf has no section of events, but their names. */
static int read_meta_info(struct model *m, const uint8_t *bytes, uint64_t size)
{
	for (size_t i = 0; i < m->events.len; i++) {
		struct coati_recording_event *e = &m->events.v[i];
		size_t len;
		const char *name =
			coati_simpleperf_event(bytes, size, e->attr.type, e->attr.config, &len);

		if (!name)
			continue;
		name = coati_arena_strndup(&m->arena, name, len);
		if (!name)
			return -ENOMEM;
		e->name = name;
	}
	return 0;
}

int coati_model_account(struct model *m, const uint8_t *bytes, size_t size)
{
	struct model_section *s = &m->features[COATI_FEATURE_RECORDER];
	uint8_t *copy;

	if (s->bytes)
		return 0;
	copy = coati_arena_alloc(&m->arena, size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	*s = (struct model_section){ copy, size };
	return 0;
}

int coati_model_feature(struct model *m, uint32_t bit, const uint8_t *bytes, uint64_t size)
{
	struct cursor c = cursor_over(bytes, size);

	if (bit >= COATI_FEATURE_MAX)
		return -EBADMSG;
	c.swap = m->swap;
	m->features[bit] = (struct model_section){ bytes, size };
	m->info.features[bit / 64] |= UINT64_C(1) << (bit % 64);
	switch (bit) {
	case COATI_FEATURE_TRACING_DATA:
		return coati_model_tracing_data(m, bytes, size);
	case COATI_FEATURE_HOSTNAME:
		set_string(m, &c, &m->info.hostname);
		break;
	case COATI_FEATURE_OSRELEASE:
		set_string(m, &c, &m->info.os_release);
		break;
	case COATI_FEATURE_VERSION:
		set_string(m, &c, &m->info.version);
		break;
	case COATI_FEATURE_ARCH:
		set_string(m, &c, &m->info.arch);
		break;
	case COATI_FEATURE_CPUDESC:
		set_string(m, &c, &m->info.cpu_desc);
		break;
	case COATI_FEATURE_CPUID:
		set_string(m, &c, &m->info.cpuid);
		break;
	case COATI_FEATURE_NRCPUS:
		read_nrcpus(m, &c);
		break;
	case COATI_FEATURE_TOTAL_MEM:
		m->info.total_mem_kb = cursor_u64(&c);
		break;
	case COATI_FEATURE_CMDLINE:
		read_cmdline(m, &c);
		break;
	case SIMPLEPERF_META_INFO:
		return read_meta_info(m, bytes, size);
	case COATI_FEATURE_EVENT_DESC:
		read_event_desc(m, &c);
		break;
	case COATI_FEATURE_GROUP_DESC:
		read_groups(m, &c);
		break;
	case COATI_FEATURE_SAMPLE_TIME:
		read_sample_time(m, &c);
		break;
	case COATI_FEATURE_CLOCKID:
		m->info.clock_res_ns = cursor_u64(&c);
		break;
	case COATI_FEATURE_CLOCK_DATA:
		read_clock_data(m, &c);
		break;
	}
	return c.bad ? -EBADMSG : 0;
}

#define UPDATE_NAME 2

int coati_model_event_update(struct model *m, struct cursor *c)
{
	uint64_t kind = cursor_u64(c);
	uint64_t id = cursor_u64(c);
	size_t left = cursor_left(c);
	const char *text = cursor_bytes(c, left);
	struct coati_recording_event *e;

	if (c->bad)
		return -EBADMSG;
	e = kind == UPDATE_NAME ? event_with_id(m, id) : NULL;
	if (!e)
		return 0;
	text = coati_arena_strndup(&m->arena, text, strnlen(text, left));
	if (!text)
		return -ENOMEM;
	if (*text)
		e->name = text;
	return 0;
}
