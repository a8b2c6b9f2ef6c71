/* SPDX-License-Identifier: MIT */
/* see stacks.h */
#include "capture/stacks.h"

#include <errno.h>
#include <string.h>

#include <coati/process.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/map.h"
#include "capture/attr.h"
#include "capture/spans.h"
#include "capture/splice.h"
#include "capture/walks.h"
#include "process/processes.h"
#include "record/chain-end.h"
#include "record/record.h"
#include "unwind/unwinder.h"

#define FORMATS_MAX 4096
#define IDS_MAX	    (1u << 24)
#define REGS_MAX    64
#define CHAIN_MAX   ((STACKS_RECORD_MAX - 4096) / 8)

#if defined(__x86_64__)
#define MACHINE COATI_MACHINE_X86_64
#elif defined(__aarch64__)
#define MACHINE COATI_MACHINE_AARCH64
#endif

#define COPIED (COATI_SAMPLE_REGS_USER | COATI_SAMPLE_STACK_USER)

/* Before and after. */
struct formats {
	struct coati_attr attr;
	struct coati_sample_format in, out;
	uint32_t max_frames;
	enum stacks_of of;
	bool is_walked; /* in the kernel */
};

struct stacks {
	struct coati_processes *processes;
	struct coati_unwinder *unwinder;
	struct walks *walks; /* NULL: nothing is walked in the kernel */
	struct map ids;	     /* of an event to the index of its formats */
	ARRAY(struct formats) formats;
	uint64_t ends[STACKS_OF_COUNT][COATI_UNWIND_END_COUNT];
	uint64_t pointers, guessed, none, dropped;
	struct coati_unwind_frame frames[CHAIN_MAX];
	uint64_t chain[CHAIN_MAX];
	uint64_t ours[CHAIN_MAX], theirs[CHAIN_MAX];
};

/* Whose memory a walk goes through. */
struct whose {
	struct coati_processes *processes;
	int32_t pid;
	uint64_t time;
};

static void stacks_freep(struct stacks **st)
{
	coati_stacks_free(st);
}

int coati_stacks_new(struct coati_images *images, const char *procfs, struct stacks **ret,
		     struct coati_error *err)
{
	CLEANUP(stacks_freep) struct stacks *st = coati_alloc(sizeof(*st));
	struct coati_processes_opts po = { .size = sizeof(po),
					   .flags = COATI_PROCESSES_LIVE,
					   .procfs = procfs };
	int r;

	if (!st)
		return coati_fail(err, -ENOMEM, "out of memory for unwinding");
	coati_map_init(&st->ids, IDS_MAX);
	st->formats.max = FORMATS_MAX;
	r = coati_processes_new(images, &po, &st->processes, err);
	if (r == 0)
		r = coati_unwinder_new(images, NULL, &st->unwinder, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(st);
	return 0;
}

void coati_stacks_free(struct stacks **stp)
{
	struct stacks *st = stp ? *stp : NULL;

	if (!st)
		return;
	*stp = NULL;
	coati_unwinder_free(&st->unwinder);
	coati_processes_free(&st->processes);
	coati_map_fini(&st->ids);
	ARRAY_FINI(&st->formats);
	coati_free(st);
}

void coati_stacks_set_walks(struct stacks *st, struct walks *walks)
{
	st->walks = walks;
}

struct coati_unwinder *coati_stacks_unwinder(struct stacks *st)
{
	return st->unwinder;
}

void coati_stacks_keep_tables(struct stacks *st, uint64_t max_bytes)
{
	st->unwinder->max_bytes = max_bytes;
}

/* ---- events ---- */

static bool is_walked(const struct coati_attr *opened)
{
	return !(opened->sample_type & COPIED) && opened->sample_type & COATI_SAMPLE_CALLCHAIN &&
	       opened->flags & COATI_ATTR_EXCLUDE_CALLCHAIN_USER;
}

bool coati_stacks_wants(const struct coati_attr *opened)
{
	return (opened->sample_type & COPIED) == COPIED || is_walked(opened);
}

void coati_stacks_attr(struct coati_attr *attr)
{
	attr->sample_type &= ~COPIED;
	attr->sample_type |= COATI_SAMPLE_CALLCHAIN;
	attr->sample_regs_user = 0;
	attr->sample_stack_user = 0;
	attr->flags &= ~COATI_ATTR_EXCLUDE_CALLCHAIN_USER;
	/* readers see by it which chains may have been cut; the kernel's own limit is not ours */
	if (!attr->sample_max_stack)
		attr->sample_max_stack = STACKS_FRAMES;
	if (attr->sample_max_stack > CHAIN_MAX / 2)
		attr->sample_max_stack = CHAIN_MAX / 2;
}

/* Events opened alike share their formats: there are as many ids as threads times CPUs. */
static struct formats *formats_of(struct stacks *st, const struct coati_attr *opened,
				  enum stacks_of of)
{
	struct coati_attr written = *opened;
	struct formats *f;

	for (size_t i = 0; i < st->formats.len; i++)
		if (st->formats.v[i].of == of &&
		    !memcmp(&st->formats.v[i].attr, opened, sizeof(*opened)))
			return &st->formats.v[i];
	f = ARRAY_ADD(&st->formats);
	if (!f)
		return NULL;
	coati_stacks_attr(&written);
	f->attr = *opened;
	f->of = of;
	f->is_walked = is_walked(opened);
	coati_sample_format_init(opened, &f->in);
	coati_sample_format_init(&written, &f->out);
	f->max_frames = written.sample_max_stack;
	return f;
}

int coati_stacks_add(struct stacks *st, uint64_t id, const struct coati_attr *opened,
		     enum stacks_of of)
{
	struct formats *f = formats_of(st, opened, of);

	if (!f)
		return -ENOMEM;
	return coati_map_put(&st->ids, id, (uint64_t)(f - st->formats.v)) < 0 ? -ENOMEM : 0;
}

/* ---- records ---- */

static void feed_walks(struct walks *ws, const struct coati_record *rec)
{
	const struct coati_task *t = &rec->u.task;

	if (rec->type == COATI_RECORD_EXIT && t->pid == t->tid)
		coati_walks_forget(ws, (int32_t)t->pid, rec->id.time);
	if (rec->type == COATI_RECORD_EXIT && ws->labels)
		coati_thread_labels_ended(ws->labels, t->pid, t->tid, rec->id.time);
	if (rec->type == COATI_RECORD_FORK && t->pid != t->ppid && ws->labels)
		coati_thread_labels_forked(ws->labels, t->pid, t->ppid, rec->id.time);
}

int coati_stacks_feed(struct stacks *st, const uint8_t *record,
		      const struct coati_sample_format *identity)
{
	struct coati_raw raw = record_raw(record);
	struct coati_record rec;

	/* it is written as it is, and readers say what they make of it */
	if (coati_record_decode(&raw, identity, &rec) < 0)
		return 0;
	if (st->walks)
		feed_walks(st->walks, &rec);
	return coati_processes_feed(st->processes, &raw, &rec);
}

static int find_place(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	struct whose *w = ctx;
	struct coati_place place;
	int r = coati_processes_find(w->processes, w->pid, addr, w->time, &place);

	if (r < 0)
		return r;
	*ret = (struct coati_unwind_place){
		.image = place.image,
		.start = place.start,
		.end = place.end,
		.bias = addr - place.vaddr,
	};
	return 0;
}

static bool is_user_mode(const struct coati_record *rec)
{
	return (rec->misc & COATI_MISC_CPUMODE_MASK) == COATI_MISC_USER;
}

/* The user part of a sample. */
struct user_part {
	uint32_t nr;	   /* of frames by tables */
	uint32_t from, to; /* of those that the kernel found, which come behind them */
	enum chain_end end;
};

/* The frames as a reader expects them: the first is where the program was, all others are return
 * addresses, in which one byte back is looked up. What a signal interrupted is no return address,
 * so it is put one byte on. */
static uint32_t put_frames(struct stacks *st, uint32_t at, const struct user_part *u)
{
	st->chain[at++] = COATI_CONTEXT_USER;
	for (uint32_t i = 0; i < u->nr; i++) {
		const struct coati_unwind_frame *f = &st->frames[i];

		st->chain[at++] = f->pc + (i && f->how == COATI_FRAME_SIGNAL);
	}
	for (uint32_t i = u->from; i < u->to; i++)
		st->chain[at++] = st->theirs[i];
	for (uint32_t i = 0; i < (uint32_t)u->end; i++)
		st->chain[at++] = COATI_CONTEXT_USER;
	return at;
}

static enum chain_end end_of(enum coati_unwind_end end, bool guessed)
{
	switch (end) {
	case COATI_UNWIND_END:
		return guessed ? CHAIN_END_GUESSED : CHAIN_END_COMPLETE;
	case COATI_UNWIND_TRUNCATED:
	case COATI_UNWIND_LIMIT:
		return CHAIN_END_CUT;
	default:
		return CHAIN_END_GAP;
	}
}

/* Go on with st->theirs, @nr addresses that frame pointers lead to, behind where our walk ended. */
static bool go_on(struct stacks *st, const struct coati_unwind_input *in, uint32_t nr,
		  struct user_part *u)
{
	struct splice s;
	bool is_rooted;

	if (nr < 2)
		return false;
	nr = 1 + coati_unwind_check(st->unwinder, in, st->theirs + 1, nr - 1, &is_rooted);
	for (uint32_t i = 0; i < u->nr; i++)
		st->ours[i] = st->frames[i].pc;
	if (!coati_splice((struct splice_chain){ st->ours, u->nr },
			  (struct splice_chain){ st->theirs, nr }, is_rooted, &s))
		return false;
	u->nr = s.ours;
	u->from = s.theirs;
	u->to = nr;
	u->end = is_rooted ? CHAIN_END_COMPLETE : CHAIN_END_POINTERS;
	return true;
}

/* The user part of the kernel's own chain, into st->theirs. */
static uint32_t take_theirs(struct stacks *st, const struct coati_u64s *chain)
{
	uint32_t at = 0, nr = 0;

	while (at < chain->count && coati_u64_at(chain, at) != COATI_CONTEXT_USER)
		at++;
	while (++at < chain->count && nr < CHAIN_MAX / 8 &&
	       coati_u64_at(chain, at) < COATI_CONTEXT_MAX)
		st->theirs[nr++] = coati_u64_at(chain, at);
	return nr;
}

static bool has_guess(const struct stacks *st, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (st->frames[i].how == COATI_FRAME_GUESS)
			return true;
	return false;
}

static void count_user(struct stacks *st, enum stacks_of of, const struct user_part *u,
		       enum coati_unwind_end end)
{
	st->guessed += of == STACKS_OF_SAMPLES && has_guess(st, u->nr);
	if (u->end == CHAIN_END_POINTERS)
		st->pointers += of == STACKS_OF_SAMPLES;
	else
		st->ends[of][u->to > u->from ? COATI_UNWIND_END : end]++;
}

/* Whose memory an input is of: the rest of it. */
static void set_whose(struct stacks *st, const struct coati_record *rec, struct whose *whose,
		      struct coati_unwind_input *in)
{
	*whose = (struct whose){ st->processes, (int32_t)rec->id.pid, rec->id.time };
	in->size = sizeof(*in);
	in->machine = MACHINE;
	in->find = find_place;
	in->ctx = whose;
}

/* The copy that a sample carries. */
static bool walk_copied(struct stacks *st, const struct formats *f, const struct coati_record *rec,
			struct user_part *ret)
{
	const struct coati_sample *s = &rec->u.sample;
	struct whose whose;
	struct coati_unwind_input in = { .reg_mask = s->regs_user.mask,
					 .stack = s->stack,
					 .stack_size = s->stack_dyn_size };
	uint64_t regs[REGS_MAX];
	enum coati_unwind_end end;
	int n = -ENODATA;

	if (s->regs_user.abi && s->regs_user.values.count <= REGS_MAX &&
	    coati_regs_get(&s->regs_user, USER_REG_SP, &in.stack_addr) == 0) {
		in.regs = coati_u64_array(&s->regs_user.values, regs);
		set_whose(st, rec, &whose, &in);
		n = coati_unwind(st->unwinder, &in, st->frames, f->max_frames, &end);
	}
	if (n <= 0) {
		st->none += f->of == STACKS_OF_SAMPLES;
		return false;
	}
	*ret = (struct user_part){ .nr = (uint32_t)n };
	ret->end = end_of(end, has_guess(st, ret->nr));
	if (end != COATI_UNWIND_END && end != COATI_UNWIND_LIMIT)
		go_on(st, &in, take_theirs(st, &s->callchain), ret);
	count_user(st, f->of, ret, end);
	return true;
}

/* ---- walked in the kernel ---- */

/* The walker's reasons in the words of a recording. What it could not know user space has tried. */
static enum coati_unwind_end walker_end(enum walker_end end)
{
	switch (end) {
	case WALKER_END:
	case WALKER_GAP:
	case WALKER_UNMAPPED:
	case WALKER_TRUNCATED:
	case WALKER_LIMIT:
		return (enum coati_unwind_end)end;
	case WALKER_UNKNOWN:
	case WALKER_STALE:
	case WALKER_NO_TABLE:
		return COATI_UNWIND_UNMAPPED;
	case WALKER_FAULT:
		return COATI_UNWIND_TRUNCATED;
	default:
		return COATI_UNWIND_BAD;
	}
}

/* The walker's copy in the kernel's numbers of registers. */
static void copy_input(const struct walked *w, uint64_t regs[WALKER_REGS],
		       struct coati_unwind_input *ret)
{
	static const uint8_t order[WALKER_REGS] = { 0, 3, 2,  1,  4,  5,  6,  7, 16,
						    8, 9, 10, 11, 12, 13, 14, 15 };

	for (uint32_t i = 0; i < WALKER_REGS; i++)
		regs[i] = w->regs[order[i]];
	*ret = (struct coati_unwind_input){ .reg_mask = UINT64_C(0xff01ff),
					    .regs = regs,
					    .stack = w->stack,
					    .stack_size = w->stack_bytes,
					    .stack_addr = w->stack_addr };
}

/* Use what the walker found; its frames are as a reader wants them. */
static enum coati_unwind_end take_walked(struct stacks *st, const struct formats *f,
					 const struct walked *w, struct user_part *ret)
{
	uint32_t nr = w->nr_frames < f->max_frames ? w->nr_frames : f->max_frames;
	enum coati_unwind_end end = walker_end(w->end);

	for (uint32_t i = 0; i < nr; i++)
		st->frames[i] =
			(struct coati_unwind_frame){ .pc = w->frames[i], .how = COATI_FRAME_TABLE };
	if (nr && w->flags & WALKER_HAS_GUESS)
		st->frames[0].how = COATI_FRAME_GUESS;
	*ret = (struct user_part){ .nr = nr };
	ret->end = end_of(end, w->flags & WALKER_HAS_GUESS);
	return end;
}

/* Frame pointers as the walker followed them, behind where ours ended. */
static void go_on_walked(struct stacks *st, const struct coati_record *rec, const struct walked *w,
			 struct user_part *u)
{
	/* registers that exist: nothing is walked */
	static const uint64_t regs[2];
	struct coati_unwind_input in = {
		.regs = regs, .reg_mask = UINT64_C(1) << USER_REG_SP | UINT64_C(1) << USER_REG_PC
	};
	struct whose whose;

	if (!w->nr_chain || w->nr_chain >= CHAIN_MAX / 8 || !u->nr)
		return;
	st->theirs[0] = st->frames[0].pc;
	memcpy(st->theirs + 1, w->chain, w->nr_chain * sizeof(*w->chain));
	set_whose(st, rec, &whose, &in);
	go_on(st, &in, w->nr_chain + 1, u);
}

/* What the walker could not finish: with the copy that it sent. False: that led no further. */
static bool finish_walk(struct stacks *st, const struct formats *f, const struct coati_record *rec,
			const struct walked *w, struct user_part *ret)
{
	struct coati_unwind_input in;
	enum coati_unwind_end end;
	uint64_t regs[WALKER_REGS];
	struct whose whose;
	int n;

	copy_input(w, regs, &in);
	set_whose(st, rec, &whose, &in);
	n = coati_unwind(st->unwinder, &in, st->frames, f->max_frames, &end);
	if (n <= 0 || (end != COATI_UNWIND_END && (uint32_t)n < w->nr_frames))
		return false;
	*ret = (struct user_part){ .nr = (uint32_t)n };
	ret->end = end_of(end, has_guess(st, ret->nr));
	if (end != COATI_UNWIND_END)
		go_on_walked(st, rec, w, ret);
	count_user(st, f->of, ret, end);
	return true;
}

/* Has some frame no unwind data, so that the next one was found otherwise? */
static bool has_bare(const struct stacks *st, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (st->frames[i].how == COATI_FRAME_GUESS ||
		    st->frames[i].how == COATI_FRAME_POINTER)
			return true;
	return false;
}

/* Compare a walk with the unwind data itself. The walker's frames stay in the report. */
static void check_walk(struct stacks *st, const struct formats *f, const struct coati_record *rec,
		       const struct walked *w)
{
	enum coati_unwind_end end = COATI_UNWIND_END;
	struct whose whose;
	struct coati_unwind_input in;
	uint64_t regs[WALKER_REGS];
	uint32_t nr, i = 0;
	int n;

	copy_input(w, regs, &in);
	set_whose(st, rec, &whose, &in);
	n = coati_unwind_evaluate(st->unwinder, &in, st->frames, f->max_frames, &end);
	nr = n < 0 ? 0 : (uint32_t)n;
	while (i < nr && i < w->nr_frames &&
	       w->frames[i] == st->frames[i].pc + (i && st->frames[i].how == COATI_FRAME_SIGNAL))
		i++;
	if (i < nr && i < w->nr_frames)
		st->walks->wrong++;
	else if (end != COATI_UNWIND_END || w->end != WALKER_END)
		st->walks->checked_part++;
	else if (nr != w->nr_frames)
		st->walks->wrong++;
	else if (has_bare(st, nr))
		st->walks->checked_over++;
	else
		st->walks->checked++;
}

static void take_labels(struct thread_labels *l, const struct coati_record *rec,
			const struct walked *w)
{
	const struct label_of of = { rec->id.pid, rec->id.tid, rec->id.time, w->family };

	if (w->flags & WALKER_NO_LABELS)
		coati_thread_labels_unread(l);
	coati_thread_labels_seen(l, &of, w->labels, w->label_bytes);
}

static bool walk_reported(struct stacks *st, const struct formats *f,
			  const struct coati_record *rec, struct user_part *ret)
{
	enum coati_unwind_end end;
	struct walked w;

	*ret = (struct user_part){ .end = CHAIN_END_COMPLETE };
	if (!st->walks || !coati_walks_match(st->walks, rec, &w)) {
		if (st->walks && st->walks->labels)
			coati_thread_labels_missing(st->walks->labels, rec->id.pid, rec->id.tid,
						    rec->id.time);
		st->ends[f->of][COATI_UNWIND_BAD]++;
		ret->end = CHAIN_END_GAP;
		return false;
	}
	if (st->walks->labels)
		take_labels(st->walks->labels, rec, &w);
	if (w.end == WALKER_NONE) {
		st->none += f->of == STACKS_OF_SAMPLES;
		return false;
	}
	if (w.flags & WALKER_IS_CHECK && w.regs)
		check_walk(st, f, rec, &w);
	else if (w.regs && finish_walk(st, f, rec, &w, ret))
		return true;
	end = take_walked(st, f, &w, ret);
	if (end != COATI_UNWIND_END)
		go_on_walked(st, rec, &w, ret);
	count_user(st, f->of, ret, end);
	return ret->nr > 0;
}

/* The kernel's part as it is, then ours. */
static void set_chain(struct stacks *st, const struct formats *f, struct coati_record *rec)
{
	struct coati_sample *s = &rec->u.sample;
	struct user_part user = { .end = CHAIN_END_COMPLETE };
	uint32_t at = 0;
	bool has_user =
		f->is_walked ? walk_reported(st, f, rec, &user) : walk_copied(st, f, rec, &user);

	while (at < s->callchain.count && at < CHAIN_MAX / 4) {
		uint64_t ip = coati_u64_at(&s->callchain, at);

		if (ip == COATI_CONTEXT_USER)
			break;
		st->chain[at++] = ip;
	}
	if (has_user) {
		at = put_frames(st, at, &user);
	} else if (is_user_mode(rec)) {
		st->chain[at++] = COATI_CONTEXT_USER;
		st->chain[at++] = s->ip;
	}
	for (uint32_t i = 0; !has_user && i < (uint32_t)user.end; i++)
		st->chain[at++] = COATI_CONTEXT_USER;
	s->callchain = (struct coati_u64s){ .bytes = (const uint8_t *)st->chain, .count = at };
}

/* Returns its new size, or a negative errno: it is malformed or too long. */
static int rewrite_sample(struct stacks *st, const struct formats *f, const struct coati_raw *raw,
			  uint8_t *out)
{
	struct coati_record rec;

	if (coati_record_decode(raw, &f->in, &rec) < 0)
		return -EBADMSG;
	set_chain(st, f, &rec);
	rec.u.sample.present = (rec.u.sample.present & ~COPIED) | COATI_SAMPLE_CALLCHAIN;
	return coati_record_encode(&rec, &f->out, out, STACKS_RECORD_MAX);
}

size_t coati_stacks_rewrite(struct stacks *st, const uint8_t *record, uint8_t *out)
{
	struct coati_raw raw = record_raw(record);
	uint64_t id, index;
	int size;

	if (raw.type != COATI_RECORD_SAMPLE || raw.size < CAPTURE_ID_AT + sizeof(id))
		goto as_it_is;
	memcpy(&id, record + CAPTURE_ID_AT, sizeof(id));
	if (!coati_map_get(&st->ids, id, &index))
		goto as_it_is;
	size = rewrite_sample(st, &st->formats.v[index], &raw, out);
	/* as it lies in the ring it is not what the recording says of its event */
	st->dropped += size < 0;
	return size < 0 ? 0 : (size_t)size;
as_it_is:
	memcpy(out, record, raw.size);
	return raw.size;
}

void coati_stacks_forget(struct stacks *st, uint64_t time)
{
	coati_processes_forget(st->processes, time);
}

void coati_stacks_get_counts(const struct stacks *st, struct stacks_counts *ret)
{
	struct coati_unwinder_stats u;

	coati_unwinder_get_stats(st->unwinder, &u);
	*ret = (struct stacks_counts){
		.pointers = st->pointers,
		.guessed = st->guessed,
		.none = st->none,
		.dropped = st->dropped,
		.tables = u.tables,
		.rows = u.table_rows,
		.build_ns = u.table_build_ns,
	};
	memcpy(ret->ends, st->ends, sizeof(ret->ends));
}
