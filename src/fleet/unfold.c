/* SPDX-License-Identifier: MIT */
/* see unfold.h */
#include "fleet/unfold.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "image/image.h"
#include "reading/off-cpu.h"
#include "reading/profile.h"
#include "process/processes.h"

#define GROUPS_MAX ((size_t)1 << 26)
#define SEED_GROUP 1
#define SEED_PLACE 2
#define SEED_TASK  3
#define OWN_LABELS 2 /* service and host */

int coati_unfold_begin(struct unfold *u, struct coati_profile *p, const char *title,
		       struct coati_error *err)
{
	struct profile_file *file = ARRAY_ADD(&p->files);
	int r;

	*u = (struct unfold){ .profile = p, .file = (uint32_t)p->files.len - 1 };
	if (!file)
		return coati_fail(err, -ENOMEM, "no memory for a profile");
	file->has_samples = true;
	file->pub = (struct coati_profile_file){ .path = coati_arena_strdup(&p->arena, title),
						 .hostname = "",
						 .os_release = "",
						 .arch = "",
						 .command = "" };
	r = coati_processes_new(p->images, &p->processes_opts, &file->processes, err);
	u->locations = coati_alloc_array(UNFOLD_FRAMES, sizeof(*u->locations));
	if (r == 0 && (!file->pub.path || !u->locations))
		r = coati_fail(err, -ENOMEM, "no memory for a profile");
	if (r < 0) {
		coati_processes_free(&file->processes);
		p->files.len--;
		coati_free(u->locations);
		return r;
	}
	coati_map_init(&u->groups, GROUPS_MAX);
	coati_map_init(&u->addresses, GROUPS_MAX);
	coati_map_init(&u->tasks, GROUPS_MAX);
	p->quality.files++;
	p->quality.clockid = -1;
	p->no_coverage = true;
	return 0;
}

void coati_unfold_end(struct unfold *u)
{
	coati_map_fini(&u->groups);
	coati_map_fini(&u->addresses);
	coati_map_fini(&u->tasks);
	coati_free(u->locations);
	u->locations = NULL;
}

/* ---- names ---- */

static uint64_t hash_text(const char *text, uint64_t seed)
{
	return coati_hash_bytes(text, strlen(text) + 1, seed);
}

/* The image and the address, without the names. */
static uint64_t hash_place(const struct agent_frame *f)
{
	uint64_t h = hash_text(f->image, SEED_PLACE);

	h = hash_text(f->path, h);
	h = coati_hash_bytes(f->build_id, f->build_id_size, h);
	return coati_hash_u64(f->address ^ (uint64_t)f->kind << 56, h);
}

static uint64_t hash_group(const struct agent_frame *f, uint32_t nr)
{
	uint64_t h = coati_hash_u64(hash_place(f), SEED_GROUP);

	for (uint32_t i = 0; i < nr; i++) {
		h = hash_text(f[i].function, h);
		h = hash_text(f[i].file, h);
		h = coati_hash_u64((uint64_t)f[i].line << 32 | f[i].flags, h);
	}
	return h;
}

static int keep_text(struct coati_image *im, const char *text, const char **ret)
{
	char *copy = coati_arena_strdup(&im->arena, text);

	if (!copy)
		return -ENOMEM;
	coati_make_printable(copy);
	*ret = copy;
	return 0;
}

/* The image of a place. Hosts may have different code at one address (kernels, JITs): each is an
 * image of its own then, under the same name. */
static int find_image(struct unfold *u, const struct agent_frame *f, uint64_t generation,
		      uint32_t *ret)
{
	struct coati_image_ref ref = { .size = sizeof(ref),
				       .kind = COATI_IMAGE_FILE,
				       .build_id_size = f->build_id_size,
				       .path = *f->path ? f->path : f->image,
				       .ino = generation,
				       .ino_generation = f->kind };
	struct coati_image *im;
	int r;

	memcpy(ref.build_id, f->build_id, f->build_id_size);
	/* the same build ID under the same path is one image whatever its inode: not for these */
	if (generation)
		ref.build_id_size = 0;
	r = coati_images_get(u->profile->images, &ref, ret, NULL);
	if (r < 0)
		return r;
	im = coati_image_at(u->profile->images, *ret);
	r = strcmp(im->name, f->image) != 0 ? keep_text(im, f->image, &im->name) : 0;
	/* all that is known of it was stored */
	im->looked = im->loaded = im->packed = im->looked_for_debug = true;
	return r;
}

static int name_address(struct unfold *u, uint32_t image, const struct agent_frame *f, uint32_t nr)
{
	struct coati_image *im = coati_image_at(u->profile->images, image);
	struct coati_name *names = coati_arena_alloc(&im->arena, nr * sizeof(*names));
	int r = names ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < nr; i++) {
		r = keep_text(im, f[i].function, &names[i].function);
		if (r == 0 && *f[i].file)
			r = keep_text(im, f[i].file, &names[i].file);
		names[i].line = f[i].line;
		names[i].flags = (f[i].flags & AGENT_FRAME_INLINE ? COATI_NAME_INLINE : 0) |
				 (f[i].flags & AGENT_FRAME_SYNTHETIC ? COATI_NAME_SYNTHETIC : 0);
		names[i].symbol = f[i].flags & AGENT_FRAME_SYNTHETIC ? NULL : names[i].function;
	}
	if (r < 0)
		return r;
	return coati_image_put_answer(
		im, f->address,
		&(struct answer){ .names = names,
				  .nr = nr,
				  .asked = COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES,
				  .packed = true });
}

static uint32_t flags_of(const struct agent_frame *f)
{
	return f->kind == AGENT_FRAME_KERNEL || f->kind == AGENT_FRAME_BPF ? COATI_LOCATION_KERNEL
	       : f->kind == AGENT_FRAME_GUEST				   ? COATI_LOCATION_GUEST
									   : 0;
}

static int make_location(struct unfold *u, const struct agent_frame *f, uint32_t nr, uint32_t *ret)
{
	uint64_t place = hash_place(f), generation = 0;
	struct location l = { .pub = { .flags = flags_of(f),
				       .vaddr = f->address,
				       .address = f->address,
				       .file = u->file } };
	int r;

	(void)coati_map_get(&u->addresses, place, &generation);
	r = coati_map_put(&u->addresses, place, generation + 1);
	if (r >= 0)
		r = find_image(u, f, generation, &l.pub.image);
	if (r >= 0)
		r = name_address(u, l.pub.image, f, nr);
	if (r >= 0)
		r = coati_profile_find_location(u->profile, &l, ret);
	return r < 0 ? r : 0;
}

/* Not code: why a thread did not run. */
static int mark_location(struct unfold *u, const struct agent_frame *f, uint32_t *ret)
{
	static const char *const marks[OFF_FRAME_COUNT] = {
		[OFF_FRAME_PREEMPTED] = "[preempted]",
		[OFF_FRAME_RUNNABLE] = "[runnable]",
		[OFF_FRAME_BLOCKED] = "[off-CPU]",
		[OFF_FRAME_BEFORE] = "[off-CPU since before the recording]",
	};
	struct location l = { .pub = { .image = COATI_IMAGE_NONE, .file = u->file } };

	for (uint32_t i = 1; i < OFF_FRAME_COUNT; i++)
		if (!strcmp(marks[i], f->function)) {
			l.pub.vaddr = i;
			l.pub.flags = COATI_LOCATION_OFF_CPU;
		}
	return coati_profile_find_location(u->profile, &l, ret);
}

/* @f[0..nr): what is inlined, and where to. */
static int find_location(struct unfold *u, const struct agent_frame *f, uint32_t nr, uint32_t *ret)
{
	uint64_t hash = hash_group(f, nr), number;
	int r;

	if (f->kind == AGENT_FRAME_MARK)
		return mark_location(u, f, ret);
	if (coati_map_get(&u->groups, hash, &number)) {
		*ret = (uint32_t)number;
		return 0;
	}
	r = make_location(u, f, nr, ret);
	if (r == 0)
		r = coati_map_put(&u->groups, hash, *ret);
	return r < 0 ? r : 0;
}

/* How many frames from @i on are of one address. */
static uint32_t group_of(const struct unfold_frames *s, uint32_t i)
{
	uint32_t nr = 1;

	while (i + nr < s->nr && s->v[i + nr - 1].flags & AGENT_FRAME_INLINE &&
	       s->v[i + nr].address == s->v[i].address)
		nr++;
	return nr;
}

static bool is_truncated_mark(const struct agent_frame *f)
{
	return f->kind == AGENT_FRAME_MARK && !strcmp(f->function, "[truncated]");
}

int coati_unfold_stack(struct unfold *u, const struct unfold_frames *s, uint32_t *ret)
{
	struct coati_profile_stack k = { .locations = u->locations };
	int r = 0;

	k.flags = s->flags & AGENT_STACK_TRUNCATED ? COATI_STACK_TRUNCATED : COATI_STACK_UNWOUND;
	for (uint32_t i = 0; r == 0 && i < s->nr && k.nr < UNFOLD_FRAMES;) {
		uint32_t nr = group_of(s, i);

		/* views add that frame themselves */
		if (is_truncated_mark(&s->v[i]))
			k.flags = COATI_STACK_TRUNCATED;
		else
			r = find_location(u, &s->v[i], nr, &u->locations[k.nr++]);
		i += nr;
	}
	if (r == 0 && !k.nr) {
		const struct location l = { .pub = { .image = COATI_IMAGE_NONE } };

		r = coati_profile_find_location(u->profile, &l, &u->locations[k.nr++]);
	}
	return r < 0 ? r : coati_profile_find_stack(u->profile, &k, ret);
}

/* ---- weights ---- */

static int find_event(struct unfold *u, const struct unfold_row *r, uint32_t *ret)
{
	struct coati_recording_event e = { .name = r->event };

	e.attr.type = COATI_TYPE_SOFTWARE;
	if (r->is_off_cpu)
		e.attr.config = COATI_SW_CONTEXT_SWITCHES;
	else if (!strcmp(r->unit, "ns"))
		e.attr.config = COATI_SW_CPU_CLOCK;
	else
		e.attr.type = COATI_TYPE_RAW;
	return coati_profile_find_event(u->profile, &e, ret);
}

static int find_thread(struct unfold *u, const struct unfold_row *r, uint32_t *ret)
{
	struct coati_profile_thread t = { .file = u->file, .pid = r->pid, .tid = r->pid };
	uint64_t hash = hash_text(r->host, SEED_TASK), number;
	int n;

	hash = coati_hash_u64((uint64_t)(uint32_t)r->pid, hash);
	hash = hash_text(r->process, hash);
	hash = hash_text(r->thread, hash);
	if (coati_map_get(&u->tasks, hash, &number)) {
		*ret = (uint32_t)number;
		return 0;
	}
	t.process = t.thread = u->nr_tasks++;
	t.comm = coati_arena_strdup(&u->profile->arena, r->thread);
	t.process_comm = coati_arena_strdup(&u->profile->arena, r->process);
	if (!t.comm || !t.process_comm)
		return -ENOMEM;
	n = coati_profile_find_thread(u->profile, &t, ret);
	if (n == 0)
		n = coati_map_put(&u->tasks, hash, *ret);
	return n < 0 ? n : 0;
}

static int find_labels(struct unfold *u, const struct unfold_row *r, uint32_t *ret)
{
	struct coati_label all[PROFILE_LABELS_MAX];
	uint32_t nr = 0;

	for (uint32_t i = 0; i < r->nr_labels && nr < PROFILE_LABELS_MAX - OWN_LABELS; i++)
		all[nr++] = r->labels[i];
	all[nr++] = (struct coati_label){ "service", r->service };
	if (*r->host)
		all[nr++] = (struct coati_label){ "host", r->host };
	return coati_profile_find_labels(u->profile, all, nr, ret);
}

static void account(struct unfold *u, const struct coati_profile_entry *e)
{
	struct coati_profile *p = u->profile;
	struct coati_profile_event *event = &p->events.v[e->event];

	add_weight(&event->samples, e->count);
	add_weight(&event->weight, e->weight);
	if (event->is_off_cpu) {
		add_weight(&p->quality.off_intervals, e->count);
		add_weight(&p->quality.off_ns, e->weight);
	} else {
		add_weight(&p->quality.samples, e->count);
	}
}

void coati_unfold_start(struct unfold *u, uint64_t start_s)
{
	u->start_s = start_s;
}

/* In which bin of the profile; all bins become longer when there are too many. */
static uint32_t bin_of(struct unfold *u, uint64_t time_s)
{
	struct coati_profile *p = u->profile;
	uint64_t since = time_s > u->start_s ? (time_s - u->start_s) * NSEC_PER_SEC : 0;

	if (!p->bin_ns || !time_s)
		return 0;
	if (time_s * NSEC_PER_SEC < p->quality.first_time)
		p->quality.first_time = time_s * NSEC_PER_SEC;
	if (time_s * NSEC_PER_SEC > p->quality.last_time)
		p->quality.last_time = time_s * NSEC_PER_SEC;
	while (p->max_bins && since / p->bin_ns >= p->max_bins && p->bin_ns < UINT64_MAX / 2)
		coati_profile_join_bins(p);
	return since / p->bin_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)(since / p->bin_ns);
}

int coati_unfold_add(struct unfold *u, const struct unfold_row *r)
{
	struct coati_profile_entry e = { .stack = r->stack,
					 .cpu = -1,
					 .bin = bin_of(u, r->time_s),
					 .count = r->samples,
					 .weight = r->weight };
	uint32_t number;
	int n = find_event(u, r, &e.event);

	if (n == 0)
		n = find_thread(u, r, &e.thread);
	if (n == 0)
		n = find_labels(u, r, &e.labels);
	if (n == 0)
		n = coati_profile_find_entry(u->profile, &e, &number);
	if (n == 0)
		account(u, &e);
	return n;
}

void coati_unfold_quality(struct unfold *u, uint64_t lost, uint64_t throttled, uint64_t own_cpu_ns)
{
	struct coati_profile_quality *q = &u->profile->quality;

	add_weight(&q->lost, lost);
	add_weight(&q->throttled, throttled);
	add_weight(&q->recorder_cpu_ns, own_cpu_ns);
}

/* ---- a window ---- */

static int unfold_stacks(struct unfold *u, const struct agent_window *w, uint32_t *numbers)
{
	struct agent_frame *room = coati_alloc_array(UNFOLD_FRAMES, sizeof(*room));
	int r = room ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < w->nr_stacks; i++) {
		const struct agent_stack *s = &w->stacks[i];
		struct unfold_frames f = { .v = room, .flags = s->flags };

		for (; f.nr < s->nr && f.nr < UNFOLD_FRAMES; f.nr++)
			room[f.nr] = w->frames[s->frames[f.nr]];
		r = coati_unfold_stack(u, &f, &numbers[i]);
	}
	coati_free(room);
	return r;
}

static int unfold_rows(struct unfold *u, const struct agent_window *w, const uint32_t *stacks)
{
	int n = 0;

	for (uint32_t i = 0; n == 0 && i < w->nr_rows; i++) {
		const struct agent_row *r = &w->rows[i];
		const struct agent_event *e = &w->events[r->event];
		struct unfold_row row = { .stack = stacks[r->stack],
					  .event = e->name,
					  .unit = e->unit,
					  .is_off_cpu = e->is_off_cpu,
					  .service = w->services[r->service].name,
					  .host = w->host,
					  .process = w->processes[r->process].name,
					  .pid = w->processes[r->process].pid,
					  .thread = r->thread,
					  .labels = w->labels[r->labels].v,
					  .nr_labels = w->labels[r->labels].nr,
					  .samples = r->samples,
					  .weight = r->weight };

		n = coati_unfold_add(u, &row);
	}
	return n;
}

int coati_unfold_window(struct unfold *u, const struct agent_window *w)
{
	uint32_t *stacks = coati_alloc_array((size_t)w->nr_stacks + 1, sizeof(*stacks));
	int r = stacks ? unfold_stacks(u, w, stacks) : -ENOMEM;

	if (r == 0)
		r = unfold_rows(u, w, stacks);
	coati_unfold_quality(u, w->quality.lost, w->quality.throttled, w->quality.own_cpu_ns);
	coati_free(stacks);
	return r;
}
