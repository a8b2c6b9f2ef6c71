/* SPDX-License-Identifier: MIT */
/*
 * Live events as Perfetto's track events, behind the samples and on the same sequence. A thread has
 * a track, slices that do not nest there have one beside it; a task has a track of its process
 * under the name of its type, which Perfetto shows together; a resource and a counter have one
 * each. Names, categories, places in the source and names of arguments are written once, in the
 * packet that needs them first. On each track slices nest and times do not go back.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "format/live-events.h"
#include "format/perfetto-write.h"
#include "format/text.h"
#include "reading/parts.h"

/* of a text that is shown as the name; longer ones are an argument, too */
#define LOG_NAME_BYTES 256

/* What a track is of: a word in the hash that is its number. */
enum {
	HASH_LANE = 1,
	HASH_TASK,
	HASH_RESOURCE,
	HASH_COUNTER,
	HASH_FLOW,
	HASH_TASK_FLOW,
};

struct writer {
	struct perfetto *x;
	const struct live *live;
	bool *has_site, *has_resource, *has_counter;
	struct map words; /* names of arguments to their numbers */
	struct map flows; /* how often each began or ended */
	struct open_lanes {
		struct {
			ARRAY(uint64_t) ends; /* of its regions, the innermost last */
		} v[LIVE_LANES];
	} * open; /* by thread */
};

/* Bit 62 is in no thread's number. */
static uint64_t hashed(uint32_t what, int32_t pid, uint64_t a, uint64_t b)
{
	const uint64_t key[4] = { what, (uint32_t)pid, a, b };

	return coati_hash_bytes(key, sizeof(key), 1) >> 2 | UINT64_C(1) << 62;
}

static uint64_t real_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* ---- tracks ---- */

static size_t begin_track(struct writer *w, uint64_t uuid, uint64_t parent, const char *name,
			  size_t *ret_packet)
{
	struct proto *p = &w->x->p;
	size_t track;

	*ret_packet = perfetto_begin_packet(w->x, w->x->start_ns, FLAG_NEEDED);
	track = coati_proto_begin(p, PACKET_TRACK);
	coati_proto_uint(p, TRACK_UUID, uuid);
	coati_proto_uint(p, TRACK_PARENT, parent);
	coati_proto_text(p, TRACK_NAME, name);
	return track;
}

static void put_track(struct writer *w, uint64_t uuid, uint64_t parent, const char *name)
{
	size_t packet, track = begin_track(w, uuid, parent, name, &packet);

	coati_proto_end(&w->x->p, track);
	perfetto_end_packet(w->x, packet);
}

static uint64_t process_track(const struct writer *w, const struct live_item *i)
{
	return perfetto_track(w->live->threads.v[i->thread].pid, PERFETTO_NO_THREAD);
}

static uint64_t lane_track(const struct live_thread *t, uint32_t lane)
{
	uint64_t own = perfetto_track(t->pid, (uint32_t)t->tid);

	return lane ? hashed(HASH_LANE, t->pid, own, lane) : own;
}

/* Threads that tell something, and their processes, under the names that they gave themselves. */
static int put_threads(struct writer *w)
{
	struct map told;
	int r = 0;

	coati_map_init(&told, PERFETTO_IDS_MAX);
	for (size_t i = 0; r >= 0 && i < w->live->threads.len; i++) {
		const struct live_thread *t = &w->live->threads.v[i];
		const struct coati_profile_thread who = { .pid = t->pid,
							  .tid = t->tid,
							  .comm = t->name,
							  .process_comm = t->process_name };

		if (!t->tells && !t->is_scheduled)
			continue;
		r = coati_map_put(&told, (uint32_t)t->pid, 1);
		if (r > 0)
			coati_perfetto_process(w->x, t->pid, t->process_name, w->x->start_ns);
		coati_perfetto_thread(w->x, &who, w->x->start_ns);
		for (uint32_t n = 1; n < t->nr_lanes; n++)
			put_track(w, lane_track(t, n), lane_track(t, 0), "what does not nest");
	}
	coati_map_fini(&told);
	return r < 0 ? r : 0;
}

static void tell_resource(struct writer *w, const struct live_item *i, uint64_t uuid)
{
	const struct live_resource *r = &w->live->resources.v[i->place];
	struct strbuf name = STRBUF_INIT(1 << 20);

	if (w->has_resource[i->place])
		return;
	w->has_resource[i->place] = true;
	coati_strbuf_printf(&name, "%s %s", r->type, r->name);
	if (!*r->name)
		coati_strbuf_printf(&name, "%llu", (unsigned long long)r->id);
	put_track(w, uuid, process_track(w, i), name.failed ? r->type : name.text);
	coati_strbuf_fini(&name);
}

static void tell_counter(struct writer *w, const struct live_item *i, uint64_t uuid)
{
	const struct live_counter *c = &w->live->counters.v[i->place];
	size_t packet, track, part;

	if (w->has_counter[i->place])
		return;
	w->has_counter[i->place] = true;
	track = begin_track(w, uuid, process_track(w, i), c->name, &packet);
	part = coati_proto_begin(&w->x->p, TRACK_COUNTER_PART);
	if (*c->unit)
		coati_proto_text(&w->x->p, COUNTER_PART_UNIT_NAME, c->unit);
	coati_proto_end(&w->x->p, part);
	coati_proto_end(&w->x->p, track);
	perfetto_end_packet(w->x, packet);
}

/* ---- interned ---- */

static void put_place(struct writer *w, const struct live_site *s)
{
	struct proto *p = &w->x->p;
	size_t place = coati_proto_begin(p, DATA_SOURCE_PLACES);

	coati_proto_uint(p, INTERNED_IID, (uint64_t)s->number + 1);
	coati_proto_text(p, PLACE_FILE, s->file);
	coati_proto_text(p, PLACE_FUNCTION, s->function);
	coati_proto_uint(p, PLACE_LINE, s->line);
	coati_proto_end(p, place);
}

/* 0: it is written already, or there is no room to remember that. */
static uint64_t new_word(struct writer *w, const char *word)
{
	uint64_t iid = w->words.len + 1, known;

	if (coati_map_get_str(&w->words, word, &known) ||
	    coati_map_put_str(&w->words, word, iid) < 0)
		return 0;
	return iid;
}

/* What this packet needs and no packet before it has defined. */
static void tell_data(struct writer *w, const struct live_item *i)
{
	const struct live_site *s = i->site;
	struct proto *p = &w->x->p;
	size_t data = coati_proto_begin(p, PACKET_INTERNED_DATA);

	if (s && !w->has_site[s->number]) {
		uint64_t iid = (uint64_t)s->number + 1;

		w->has_site[s->number] = true;
		coati_perfetto_text(w->x, DATA_EVENT_NAMES, iid, s->name);
		if (*s->category)
			coati_perfetto_text(w->x, DATA_CATEGORIES, iid, s->category);
		if (*s->file)
			put_place(w, s);
	}
	for (uint32_t n = 0; n < i->nr_args; n++) {
		uint64_t iid = new_word(w, i->args[n].name);

		if (iid)
			coati_perfetto_text(w->x, DATA_ANNOTATION_NAMES, iid, i->args[n].name);
	}
	coati_proto_end(p, data);
}

static bool needs_data(const struct writer *w, const struct live_item *i)
{
	return i->nr_args || (i->site && !w->has_site[i->site->number]);
}

/* ---- arguments ---- */

static size_t begin_argument(struct writer *w, const char *name)
{
	size_t a = coati_proto_begin(&w->x->p, EVENT_ANNOTATION);
	uint64_t iid;

	if (coati_map_get_str(&w->words, name, &iid))
		coati_proto_uint(&w->x->p, ANNOTATION_NAME_IID, iid);
	else
		coati_proto_text(&w->x->p, ANNOTATION_NAME, name);
	return a;
}

static void put_number(struct writer *w, const char *name, uint64_t value)
{
	size_t a = begin_argument(w, name);

	coati_proto_uint(&w->x->p, ANNOTATION_UINT, value);
	coati_proto_end(&w->x->p, a);
}

static void put_text(struct writer *w, const char *name, const char *value)
{
	size_t a = begin_argument(w, name);

	coati_proto_text(&w->x->p, ANNOTATION_TEXT, value);
	coati_proto_end(&w->x->p, a);
}

static void put_arg(struct writer *w, const struct live_arg *arg)
{
	struct proto *p = &w->x->p;
	size_t a = begin_argument(w, arg->name);

	switch (arg->letter) {
	case 'i':
		coati_proto_int(p, ANNOTATION_INT, arg->number);
		break;
	case 'u':
		coati_proto_uint(p, ANNOTATION_UINT, (uint64_t)arg->number);
		break;
	case 'x':
		coati_proto_uint(p, ANNOTATION_POINTER, (uint64_t)arg->number);
		break;
	case 'd':
		coati_proto_fixed64(p, ANNOTATION_REAL, real_bits(arg->real));
		break;
	default:
		coati_proto_text(p, ANNOTATION_TEXT, arg->text);
	}
	coati_proto_end(p, a);
}

static void put_flags(struct writer *w, const struct live_item *i)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} words[] = {
		{ ITEM_OPEN_BEGIN, "began before" },	   { ITEM_OPEN_END, "has no end" },
		{ ITEM_CLOCK_UNKNOWN, "time is a guess" }, { ITEM_CUT, "text was cut" },
		{ ITEM_ILLEGAL, "illegal transition" },	   { ITEM_HANDLER, "in a signal handler" }
	};

	for (size_t n = 0; n < sizeof(words) / sizeof(*words); n++) {
		size_t a;

		if (!(i->flags & words[n].flag))
			continue;
		a = begin_argument(w, words[n].name);
		coati_proto_uint(&w->x->p, ANNOTATION_BOOL, 1);
		coati_proto_end(&w->x->p, a);
	}
}

static void put_args(struct writer *w, const struct live_item *i)
{
	for (uint32_t n = 0; n < i->nr_args; n++)
		put_arg(w, &i->args[n]);
	if (i->kind == ITEM_TASK || (i->kind == ITEM_ENTER && i->id))
		put_number(w, "task", i->id);
	if (i->kind == ITEM_TASK && i->parent)
		put_number(w, "parent", i->parent);
	if (i->kind == ITEM_LOSS)
		put_number(w, "count", (uint64_t)i->number);
	if (i->kind == ITEM_LOG && strlen(i->name) > LOG_NAME_BYTES)
		put_text(w, "message", i->name);
	put_flags(w, i);
}

/* ---- events ---- */

static size_t begin_event(struct writer *w, uint32_t type, uint64_t track)
{
	size_t event = coati_proto_begin(&w->x->p, PACKET_TRACK_EVENT);

	coati_proto_uint(&w->x->p, EVENT_TYPE, type);
	coati_proto_uint(&w->x->p, EVENT_TRACK, track);
	return event;
}

/* As much of a text as a name should have, whole characters. */
static void put_name(struct writer *w, const char *text)
{
	size_t len = strlen(text);

	if (len > LOG_NAME_BYTES)
		for (len = LOG_NAME_BYTES; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	coati_proto_bytes(&w->x->p, EVENT_NAME, text, len);
}

/* What there is no place in the program for has a category of its own. */
static const char *category_of(const struct live_item *i)
{
	static const char *const names[ITEM_KINDS] = {
		[ITEM_REGION] = "region", [ITEM_TASK] = "task",	 [ITEM_STATE] = "resource",
		[ITEM_LOG] = "log",	  [ITEM_ENTER] = "task", [ITEM_INSTANT] = "instant",
		[ITEM_LABELS] = "labels", [ITEM_LOSS] = "loss",	 [ITEM_FLOW] = "flow",
	};

	return names[i->kind];
}

static void put_who(struct writer *w, const struct live_item *i)
{
	struct proto *p = &w->x->p;
	uint64_t iid = i->site ? (uint64_t)i->site->number + 1 : 0;

	if (i->kind == ITEM_LOG || i->kind == ITEM_STATE || i->kind == ITEM_LOSS)
		put_name(w, *i->name ? i->name : category_of(i));
	else if (i->kind == ITEM_ENTER && !i->id)
		put_name(w, "no task");
	else if (iid)
		coati_proto_uint(p, EVENT_NAME_IID, iid);
	else
		put_name(w, category_of(i));
	if (iid && *i->site->category)
		coati_proto_uint(p, EVENT_CATEGORY_IID, iid);
	else
		coati_proto_text(p, EVENT_CATEGORY, category_of(i));
	if (iid && *i->site->file)
		coati_proto_uint(p, EVENT_SOURCE_IID, iid);
}

/* Each that begins is a new one, also when the last of its number never ended: Perfetto would go on
 * from there. What comes behind an end is new, too. */
static uint64_t flow_of(struct writer *w, int32_t pid, const struct live_item *i)
{
	uint64_t key = hashed(HASH_FLOW, pid, i->id, 0), turn = 0;

	coati_map_get(&w->flows, key, &turn);
	turn += i->number == 0;
	if (i->number != 1) /* without room to remember it goes on */
		coati_map_put(&w->flows, key, turn + (i->number == 2));
	return hashed(HASH_FLOW, pid, i->id, turn);
}

static void put_flows(struct writer *w, const struct live_item *i)
{
	int32_t pid = w->live->threads.v[i->thread].pid;

	if (i->kind == ITEM_FLOW)
		coati_proto_fixed64(&w->x->p, i->number == 2 ? EVENT_FLOW_END : EVENT_FLOW,
				    flow_of(w, pid, i));
	else if (i->kind == ITEM_TASK || (i->kind == ITEM_ENTER && i->id))
		coati_proto_fixed64(&w->x->p, EVENT_FLOW, hashed(HASH_TASK_FLOW, pid, i->id, 0));
}

static void put_event(struct writer *w, const struct live_item *i, uint32_t type, uint64_t track)
{
	size_t packet = perfetto_begin_packet(w->x, i->begin, FLAG_NEEDED), event;

	if (needs_data(w, i))
		tell_data(w, i);
	event = begin_event(w, type, track);
	put_who(w, i);
	put_flows(w, i);
	put_args(w, i);
	coati_proto_end(&w->x->p, event);
	perfetto_end_packet(w->x, packet);
}

static void put_end(struct writer *w, uint64_t time, uint64_t track)
{
	size_t packet = perfetto_begin_packet(w->x, time, FLAG_NEEDED);

	coati_proto_end(&w->x->p, begin_event(w, EVENT_TYPE_END, track));
	perfetto_end_packet(w->x, packet);
}

static void put_counter(struct writer *w, const struct live_item *i, uint64_t track)
{
	size_t packet = perfetto_begin_packet(w->x, i->begin, FLAG_NEEDED);
	size_t event = begin_event(w, EVENT_TYPE_COUNTER, track);

	if (i->flags & ITEM_IS_REAL)
		coati_proto_fixed64(&w->x->p, EVENT_COUNTER_REAL, real_bits(i->real));
	else
		coati_proto_int(&w->x->p, EVENT_COUNTER, i->number);
	coati_proto_end(&w->x->p, event);
	perfetto_end_packet(w->x, packet);
}

/* ---- all of them ---- */

/* What has ended by @time ends, the innermost first. */
static void end_regions(struct writer *w, uint32_t thread, uint32_t lane, uint64_t time)
{
	const struct live_thread *t = &w->live->threads.v[thread];
	typeof(w->open[thread].v[lane].ends) *open = &w->open[thread].v[lane].ends;

	while (open->len && open->v[open->len - 1] <= time)
		put_end(w, open->v[--open->len], lane_track(t, lane));
}

static int put_region(struct writer *w, const struct live_item *i)
{
	uint64_t *slot;

	end_regions(w, i->thread, i->lane, i->begin);
	w->open[i->thread].v[i->lane].ends.max = SIZE_MAX;
	slot = ARRAY_ADD(&w->open[i->thread].v[i->lane].ends);
	if (!slot)
		return -ENOMEM;
	*slot = i->end;
	put_event(w, i, EVENT_TYPE_BEGIN, lane_track(&w->live->threads.v[i->thread], i->lane));
	return 0;
}

static int put_item(struct writer *w, const struct live_item *i)
{
	const struct live_thread *t = &w->live->threads.v[i->thread];
	uint64_t track = lane_track(t, 0);

	switch (i->kind) {
	case ITEM_REGION:
		return put_region(w, i);
	case ITEM_TASK:
		track = hashed(HASH_TASK, t->pid, i->id, i->order);
		put_track(w, track, process_track(w, i), i->site ? i->site->name : "task");
		put_event(w, i, EVENT_TYPE_BEGIN, track);
		put_end(w, i->end, track);
		return 0;
	case ITEM_STATE:
		track = hashed(HASH_RESOURCE, t->pid, i->place, 0);
		tell_resource(w, i, track);
		put_event(w, i, EVENT_TYPE_BEGIN, track);
		put_end(w, i->end, track);
		return 0;
	case ITEM_COUNTER:
		track = hashed(HASH_COUNTER, t->pid, i->place, 0);
		tell_counter(w, i, track);
		put_counter(w, i, track);
		return 0;
	default:
		end_regions(w, i->thread, 0, i->begin - (i->begin > 0));
		put_event(w, i, EVENT_TYPE_INSTANT, track);
		return 0;
	}
}

static int put_items(struct writer *w)
{
	struct live_unpack u;
	struct live_item item;
	int r = put_threads(w);

	coati_unpack_init(&u, &w->live->items, w->live->sites.v);
	while (r == 0 && coati_unpack_next(&u, &item))
		r = put_item(w, &item);
	if (u.failed)
		r = -ENOMEM;
	coati_unpack_fini(&u);
	for (uint32_t i = 0; r == 0 && i < w->live->threads.len; i++)
		for (uint32_t n = 0; n < LIVE_LANES; n++)
			end_regions(w, i, n, UINT64_MAX);
	return r;
}

int coati_perfetto_live(struct perfetto *x)
{
	const struct live *l = x->in->live;
	struct writer w = { .x = x, .live = l };
	int r = -ENOMEM;

	coati_map_init_strings(&w.words, PERFETTO_IDS_MAX);
	coati_map_init(&w.flows, PERFETTO_IDS_MAX);
	w.has_site = coati_alloc_array(l->sites.len + 1, sizeof(bool));
	w.has_resource = coati_alloc_array(l->resources.len + 1, sizeof(bool));
	w.has_counter = coati_alloc_array(l->counters.len + 1, sizeof(bool));
	w.open = coati_alloc_array(l->threads.len + 1, sizeof(*w.open));
	if (w.has_site && w.has_resource && w.has_counter && w.open)
		r = put_items(&w);
	for (size_t i = 0; w.open && i < l->threads.len; i++)
		for (int n = 0; n < LIVE_LANES; n++)
			ARRAY_FINI(&w.open[i].v[n].ends);
	coati_free(w.open);
	coati_free(w.has_site);
	coati_free(w.has_resource);
	coati_free(w.has_counter);
	coati_map_fini(&w.words);
	coati_map_fini(&w.flows);
	return r;
}
