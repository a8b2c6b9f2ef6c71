/* SPDX-License-Identifier: MIT */
/*
 * The tracer, inside. One for each process: a mapping (record/live-format.h) with chunks, from
 * which threads get room for a batch; recorders are those who read or keep what was written.
 *
 * Who may touch what:
 *  - a batch, and the slot that it belongs to: the thread, while slot->state is SLOT_WRITING; who
 *    holds the lock, while it is another. A slot that
 *    was taken from its thread this way keeps a generation that is over, so that the thread's next
 *    event comes to the lock first.
 *  - hot.generation is changed under the lock, then the changer makes every thread pass a barrier
 *    and waits until none is in an event (SLOT_WRITING) of a
 *    generation before. See generation.c and tests/models/generation.pml.
 *  - everything else in struct tracer: who holds the lock. It blocks signals, and is never waited
 *    for by a handler that interrupted its holder.
 *
 * What is marked safe may run in signal handlers: no allocation, no lock but that one, errno kept
 * by the entries.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/live.h>
#include <coati/tracer.h>

#include "live/sampler/stack.h"
#include "record/live-format.h"

#define TRACER_TLS	   __thread __attribute__((tls_model("initial-exec")))
#define TRACER_NAME	   64u /* bytes of the name of a thread that are repeated, with a zero */
#define TRACER_CHUNK	   16384u
#define TRACER_REGION	   19u /* bytes of its longest event: kind, time and a number */
#define TRACER_FULL	   (INT64_MIN / 2)
#define TRACER_PIECE_MIN   1024u /* the least that a batch is given when there are many threads */
#define TRACER_SYSTEM	   2u	 /* chunks that are kept for what the tracer itself has to say */
#define TRACER_TEXT	   8000u /* bytes of a text in one event */
#define TRACER_EVENT	   8192u /* of an event that is never too large for an empty batch */
#define TRACER_LABELS	   1024u /* of a set of labels, as it is written */
#define TRACER_INTERNED	   128u	 /* longer texts are not looked up in the table */
#define TRACER_DEPTH_MAX   0xfffffu /* regions that are counted */
#define TRACER_SLOT_DEPTH  16u	    /* regions of handlers that are repeated */
#define TRACER_GENERATIONS 1024u    /* that can be kept */
#define TRACER_RESOURCES   4096u
#define TRACER_NO_SLOT	   UINT32_MAX
#define TRACER_FOLDER	   152u /* bytes of a folder's name with its end; PID-TICKS.live takes 37 */
#define TRACER_FILTERS	   16u	/* recorders at the same time */

/* Bits of the gate. */
#define GATE_CATEGORIES 59u
#define GATE_REST	(UINT64_C(1) << 58) /* categories that got no bit */
/* Stacks of open regions are kept while no recorder runs; new sites also come in through it. */
#define GATE_KEEP    (UINT64_C(1) << 59)
#define GATE_ON	     (UINT64_C(1) << 60) /* a recorder runs: new sites come in through it */
#define GATE_LABELS  (UINT64_C(1) << 61)
#define GATE_SAMPLES (UINT64_C(1) << 62)
#define GATE_ASKED   (UINT64_C(1) << 63) /* set from outside */

/* Library's bits of coati_site.flags */
#define SITE_REFUSED (1u << 31)

#define REGION_HELD (1u << 0) /* not written yet */
#define REGION_LOST (1u << 1) /* there was no room for its begin */
#define REGION_ANY  (1u << 2) /* lost, of a site that is not known: the next end is its own */

struct tracer_region {
	uint64_t began;
	union {
		struct {
			uint32_t site, flags;
		};
		uint64_t id; /* both; the number of the site when there are no flags */
	};
};

_Static_assert(sizeof(struct tracer_region) == 16, "see tracer_slot.both");

struct tracer_loss {
	uint64_t count, first_ns, last_ns;
	uint32_t tid, slot;
};

/* Both clocks at the same instant. */
struct tracer_pair {
	uint64_t cycles, ns;
	uint32_t error_ns;
};

#define SLOT_WRITING UINT64_MAX	      /* in an event */
#define SLOT_WAITING (UINT64_MAX - 1) /* in one, but waits for the lock or holds it */

struct tracer_slot {
	/* The generation of the batch while the slot is in no event, or one of SLOT_. Then a look
	 * at this and a look at hot.fast tell all. */
	_Atomic uint64_t state;
	_Atomic uint64_t generation; /* of the batch */
	/* What is used of it is where the next event goes, and kept nowhere else: one store says it
	 * to us and to who reads the batch. */
	struct live_batch *batch; /* coati_tracer_no_batch: none */
	/* an event of a region has room while not more is used; TRACER_FULL: the next event must
	 * take the slow way */
	int64_t limit;
	uint64_t last; /* time of the last event */
	union {
		struct {
			/* so that the depth counts in entries of the stack of regions */
			uint64_t : 4;
			uint64_t depth : 20;  /* open regions */
			uint64_t events : 40; /* in the batch */
		};
		uint64_t both; /* changed by one addition */
	};
	/* the slow half */
	struct tracer_region *regions;
	uint32_t held; /* how many of the innermost regions are held back */
	/* how many of the innermost have no begin, and are too deep for the stack to say so */
	uint32_t deep_lost;
	uint32_t index, regions_max, seq, chunk;
	uint32_t told;	       /* as in the head of a batch */
	uint64_t ids, ids_end; /* of tasks and resources */
	uint64_t recording;    /* first generation of the one that it has seen */
	uint64_t epoch;	       /* that its regions belong to */
	uint64_t settled;      /* last generation after which coati_tracer_settle() was called */
	bool tell;	       /* the state is to be reported in the next batch */
	/* What closing takes longest for, prepared before the lock is taken: for a batch with so
	 * many bytes */
#define NOT_SUMMED UINT32_MAX
	uint32_t summed, sum;
	struct tracer_pair ended;
	_Atomic uint64_t lost, lost_first_ns, lost_last_ns;
};
_Static_assert(offsetof(struct tracer_slot, regions) <= 64, "what an event needs is one line");

struct tracer_thread {
	_Alignas(64) struct tracer_slot slot[2];
	struct tracer_thread *next; /* all that there ever were */
	_Atomic uint32_t tid;	    /* 0: free */
	struct tracer_thread *next_free;
	bool unsure;			  /* no destructor tells its end */
	bool relabel;			  /* labels may be other than those below */
	_Atomic uint64_t told;		  /* generation in which the thread that changed it reported
					   * its state */
	_Atomic uint64_t task;		  /* that it works on, for others */
	struct stack_memory stack_memory; /* its own, as far as known */
	_Atomic bool walking;
	uint32_t nr_free, free_tasks[8]; /* slots of open tasks that no other thread may take */
	uint32_t stack_id, stack_count;	 /* the last one, in stack_generation */
	uint64_t stack_generation;
	uint64_t stack[LIVE_STACK_MAX];
	struct coati_labels labels; /* as last reported */
	char name[TRACER_NAME];	    /* likewise */
	struct tracer_region regions[LIVE_REGION_DEPTH], handler_regions[TRACER_SLOT_DEPTH];
};

/* Read in every event; in a page that is zero in a child. */
struct tracer_hot {
	_Alignas(4096) _Atomic uint64_t generation; /* 0: no recorder runs */
	/* the same, or 0 when events have to look at what follows: changed together with it */
	_Atomic uint64_t fast;
	_Atomic uint32_t cycles;    /* the cycle counter is the clock */
	_Atomic uint32_t fenced;    /* there is no membarrier() */
	_Atomic uint32_t stacks;    /* stacks are wanted with every region, task, log */
	_Atomic uint32_t exhausted; /* there is no chunk to be had */
	uint8_t rest[4096 - 32];
};
_Static_assert(sizeof(struct tracer_hot) == 4096, "a page of its own");
extern struct tracer_hot coati_tracer_hot;
extern struct live_batch coati_tracer_no_batch; /* without room, never written */

/* What is known of a chunk besides what its entry in the directory says. */
struct tracer_chunk {
	uint32_t next; /* of the same generation, or free; UINT32_MAX: none */
	uint32_t open; /* batches */
};

struct tracer_generation {
	uint64_t number;
	uint64_t pair_cycles, pair_ns, realtime_ns, end_ns;
	uint32_t pair_error_ns;
	uint32_t first, last; /* chunks, in the order of their taking */
	uint32_t chunks;
	uint32_t pins;	 /* a thread copies it */
	uint32_t takers; /* recorders that take a copy of it, one bit each (coati_recorder.index) */
	uint32_t wanted; /* those of them that have not taken it yet */
	bool complete;
};

struct tracer_filter {
	bool used;
	char text[256]; /* "": all */
};

/* What a recorder has lost. */
struct tracer_account {
	uint64_t dropped;	       /* events, all in all */
	struct tracer_loss losses[64]; /* that was reported to no reader */
	uint32_t nr_losses;
};
/* Counts what found no room in the memory; kept in the memory itself, for those who read it
 * there. */
#define TRACER_SHARED (UINT32_C(1) << TRACER_FILTERS)

/* Open addressing: 0 free, else number + 1 of an entry whose words are whole. */
struct tracer_table {
	_Atomic uint32_t *heads;
	uint32_t mask;
	_Atomic uint32_t count; /* numbers given */
	uint32_t max;
	struct tracer_entry *entries;
	_Atomic uint64_t used; /* bytes of keys */
	uint64_t bytes;
	uint8_t *keys;
};

struct tracer_entry {
	uint64_t hash;
	uint32_t at, size; /* of its key */
	_Atomic uint32_t told;
	uint32_t reserved;
};

struct tracer_open_resource {
	_Atomic uint64_t id, generation;
	_Atomic uint32_t state;
	uint32_t type;
	char name[48];
};

struct tracer {
	_Atomic uint32_t lock;
	uint32_t pid;
	struct live_map *map; /* NULL: no recorder runs */
	uint64_t map_bytes;
	int fd;
	char path[TRACER_FOLDER + 40]; /* "": no name */
	enum coati_recorder_place place;
	uint64_t removed_files, removed_bytes; /* of the dead */
	struct live_chunk *directory;
	uint8_t *chunks;
	struct live_open_task *tasks;
	_Atomic uint64_t *task_generations, *task_bits; /* a bit is set while its slot is free */
	struct tracer_open_resource *resources;
	_Atomic uint64_t resource_bits[TRACER_RESOURCES / 64];
	uint32_t task_count;
	struct coati_live_clock clock;
	/* clock.source, for threads that keep regions while no recorder runs: a start sets the
	 * clock meanwhile. Set before the epoch that it belongs to. */
	_Atomic uint32_t clock_source;

	struct tracer_chunk *chunk_states;
	uint32_t chunk_count, free_chunk, free_count;
	uint32_t fill;	  /* chunk with room behind its batches; UINT32_MAX: none */
	uint32_t threads; /* registered */
	struct tracer_thread *first, *free_threads;
	uint64_t first_generation; /* of this recording */
	/* Regions are known as long as this stays the same: during a recording, and from one to the
	 * next where they are kept. */
	_Atomic uint64_t epoch;
	bool keeps; /* see coati_regions_keep() */
	bool key_made;
	pthread_key_t key;

	struct tracer_generation generations[TRACER_GENERATIONS]; /* ring */
	uint64_t oldest, newest;				  /* numbers of those kept */
	uint64_t full_chunks; /* of the newest: when to ask for the next */
	_Atomic uint64_t period_ns;
	uint32_t system_seq;
	_Atomic uint32_t policy; /* enum coati_recorder_policy, of all recorders together */

	/* by recorder; the last: TRACER_SHARED */
	struct tracer_account accounts[TRACER_FILTERS + 1];
	_Atomic uint64_t orphans, orphans_first_ns,
		orphans_last_ns; /* events of threads that could not be registered */

	_Atomic uint32_t asked;	  /* futex: the collector is to advance */
	_Atomic uint32_t freed;	  /* futex: chunks were freed */
	_Atomic uint32_t waiting; /* threads that wait for a chunk */
	_Atomic uint64_t next_id; /* of tasks and resources */
	struct tracer_table strings[2], stacks[2];
	struct tracer_filter filters[TRACER_FILTERS];
	uint32_t labels_wanted, samples_wanted; /* recorders */
	/* sets of recorders: those that run, those that take a copy of each generation, and those
	 * of them for which threads wait */
	uint32_t running, takers, blocking;
	bool filtered; /* a category that is in use is not wanted */

	uint64_t events, batches, generation_count, stuck;
	uint64_t sites_refused;
	_Atomic uint64_t tasks_unlisted;
};
extern struct tracer coati_tracer;

static inline uint32_t tracer_policy(void)
{
	return atomic_load_explicit(&coati_tracer.policy, memory_order_relaxed);
}
extern TRACER_TLS struct tracer_thread *coati_tracer_self;
extern TRACER_TLS uint64_t coati_tracer_task;	       /* that this thread works on */
extern TRACER_TLS char coati_tracer_name[TRACER_NAME]; /* as it was reported last; "": never */

/* ---- lock.c, safe ---- */

struct tracer_guard {
	uint64_t signals; /* that were blocked before */
};

/* Not when coati_tracer_holds(). */
void coati_tracer_lock(struct tracer_guard *ret);
void coati_tracer_unlock(const struct tracer_guard *guard);
/* Whether this thread holds the lock: a handler interrupted it. */
bool coati_tracer_holds(void);
void coati_tracer_lock_reset(void);
/* Count @word up and wake all who wait for it to change. */
void coati_tracer_wake(_Atomic uint32_t *word);
/* Until @word is not @value, for @ns at most (0: no limit); may return early. */
void coati_tracer_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);

/* ---- thread.c, safe ---- */

/* The thread of this call, registered now; NULL when that is not possible (counted while a recorder
 * runs). */
struct tracer_thread *coati_tracer_first_use(void);
/* Before the stack of regions is changed while no recorder runs: the slot has no batch any more
 * that the collector might still be closing. Under the flag of the slot. */
void coati_tracer_settle(struct tracer_slot *s);
/* Regions of an earlier epoch are forgotten. Under the flag of the slot. */
void coati_tracer_renew(struct tracer_slot *s);

/* The rest of emit_enter(), see emit.h: @t NULL or in an event of slot 0. */
uint8_t *coati_tracer_enter(struct tracer_thread *t, uint32_t worst, struct tracer_slot **ret);
/* Under the flag of the slot, which stays: make room, in a batch of the current generation. NULL:
 * there is none, or no recorder runs. */
uint8_t *coati_tracer_refill(struct tracer_thread *t, struct tracer_slot *s, uint32_t worst);
void coati_tracer_lose(struct tracer_slot *s, uint64_t count);
/* Under the flag of the slot: there is no room for what is inside of the regions that are held
 * back, so they are lost, too. */
void coati_tracer_lose_held(struct tracer_slot *s);
/* An event of a thread or of a site that could not be registered. */
void coati_tracer_lose_orphan(void);
/* Under the lock: take up what a slot lost. */
void coati_tracer_collect_loss(struct tracer_slot *s, uint32_t tid);
void coati_tracer_collect_orphans(void);
/* Into the accounts of the set @of. */
void coati_tracer_add_loss(uint32_t of, const struct tracer_loss *loss);
/* Under the lock: close its batches and make it free. */
void coati_tracer_release(struct tracer_thread *t);
/* For pthread_key_create(). */
void coati_tracer_thread_exits(void *thread);

/* ---- pool.c, safe; under the lock ---- */

/* A new batch for the slot with room for @need bytes; false when there is none. The slot's
 * generation stays. */
bool coati_tracer_open_batch(struct tracer_thread *t, struct tracer_slot *s, uint32_t need);
void coati_tracer_close_batch(struct tracer_slot *s);
/* A batch of the tracer itself, in generation @g: open, write at the pointer, close with its end.
 * NULL: no room. */
struct live_batch *coati_tracer_open_system(struct tracer_generation *g, uint16_t kind,
					    uint32_t need);
void coati_tracer_close_system(struct live_batch *b, const uint8_t *end, uint32_t events);
struct tracer_generation *coati_tracer_generation(uint64_t number);
/* For who does not hold the lock: there may be less already. */
static inline uint64_t tracer_oldest(void)
{
	return __atomic_load_n(&coati_tracer.oldest, __ATOMIC_RELAXED);
}
/* Whether the next generation makes room: this one may then be dropped, or is written out. */
bool coati_tracer_makes_room(void);
/* Close what is left of a generation whose batches are closed. */
void coati_tracer_seal(struct tracer_generation *g);
/* Give its chunks back. */
void coati_tracer_drop(struct tracer_generation *g);
/* The recorders of the set @of do not take it: its events are lost for them. */
void coati_tracer_refuse(struct tracer_generation *g, uint32_t of);
/* The events of a closed batch are lost for the set @of. */
void coati_tracer_lose_batch(const struct live_batch *b, uint32_t of);
/* Without the lock, too. */
struct tracer_pair coati_tracer_pair(void);
uint64_t coati_tracer_realtime(void);
/* What a batch is closed with, by its thread before it takes the lock for it, or by who closes
 * it. */
void coati_tracer_sum_up(struct tracer_slot *s);

/* ---- state.c, safe; under the lock ---- */

/* Bytes that telling the open state of the slot may take. */
uint32_t coati_tracer_tell_bytes(const struct tracer_thread *t, const struct tracer_slot *s);
void coati_tracer_tell(struct tracer_thread *t, struct tracer_slot *s);
/* A set of labels as bytes, at most TRACER_LABELS. */
uint8_t *coati_tracer_put_labels(uint8_t *at, const struct coati_labels *labels);

/* ---- emit.c, safe ---- */

/* Under the flag of the slot: regions from the innermost down to @depth end. */
void coati_tracer_end_regions(struct tracer_slot *s, uint32_t depth);

/* ---- events.c, safe ---- */

struct tracer_text;
/* A log whose text was cut from @full bytes; @frame is that of the function that the program
 * called. */
void coati_tracer_log(struct coati_site *site, const struct tracer_text *text, size_t full,
		      const void *frame);

/* ---- tasks.c and resources.c, safe ---- */

/* For tasks and resources; @s NULL: no recorder runs. Under the flag of the slot. */
uint64_t coati_tracer_new_id(struct tracer_slot *s);

/* Under the lock: slots that the thread has in stock. */
void coati_tracer_return_tasks(struct tracer_thread *t);
/* Under the lock: open tasks and resources of generations before @g, into STATUS batches of it. */
void coati_tracer_tell_tasks(struct tracer_generation *g);
void coati_tracer_tell_resources(struct tracer_generation *g);

/* ---- sites.c, safe ---- */

/* Give it a number; false when it has none. */
bool coati_tracer_site(struct coati_site *site);
bool coati_tracer_type(struct coati_resource_type *type);
/* The value of the gate while no recorder runs. */
static inline uint64_t tracer_closed_gate(void)
{
	return coati_tracer.keeps ? GATE_KEEP : 0;
}
/* Under the lock: set the gate to what the filters want. */
void coati_tracer_gate_update(void);
/* Under the lock: after a change of what events have to look at. */
void coati_tracer_publish_fast(void);
/* Definitions of all sites and types, one behind the other, and where each ends. They stay, and
 * stay as they are. */
const uint8_t *coati_tracer_sites(const uint32_t **ret_ends, uint32_t *ret_count);
/* Under the lock. */
uint32_t coati_tracer_site_count(void);
/* Under the lock: into the mapping. */
void coati_tracer_sites_copy(void);

/* ---- tables.c, safe ---- */

/* Number + 1 of @key in the table of @generation, and whether its definition has to be written by
 * the caller; 0: no room. */
uint32_t coati_tracer_intern(struct tracer_table *table, const void *key, uint32_t size,
			     struct tracer_entry **ret);
void coati_tracer_table_reset(struct tracer_table *table);

/* ---- pool-open.c, generation.c, collector: ordinary code ---- */

int coati_tracer_open(const struct coati_recorder_opts *opts, struct coati_error *err);
void coati_tracer_close(void);
/* Begin the next generation, or with @stop none; what was written before is in closed batches
 * afterwards. Not by two at once. */
void coati_tracer_advance(bool stop);
/* In the child after fork(). */
void coati_tracer_child(void);

/* ---- what other parts of the library tell ---- */

/* The labels of this thread changed; called when GATE_LABELS is set.  Signal: safe. */
void coati_tracer_labels_changed(void);
/* A CPU sample of this thread; the listener of the sampler while a recorder wants them. Signal:
 * safe. */
void coati_tracer_sample(const uint64_t *frames, uint32_t count, uint64_t cpu_ns);
