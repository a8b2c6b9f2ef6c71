/* SPDX-License-Identifier: MIT */
/* One recording on its way into a profile: what is known while it is being read, and forgotten
 * afterwards. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reading/chain-key.h"
#include "reading/chain.h"
#include "reading/off-cpu.h"
#include "reading/parts.h"
#include "reading/profile.h"
#include "recording/recording.h"

#define READING_TASKS	   1024 /* a power of two */
#define READING_SPOTS	   8192 /* the same */
#define READING_SHARES_MAX 8192 /* more counts than fit into a record */

/* A thread that was seen lately. */
struct task {
	int32_t pid, tid;
	uint32_t epoch; /* right only while nothing was recorded about tasks; 0: empty */
	uint32_t thread;
	uint64_t space;
	bool passes;
};

/* An address that was looked up lately: the location that it became, and the time in which that is
 * right. */
struct spot {
	uint64_t addr;
	uint64_t code; /* number of the address space, or of the changes of the kernel's code */
	uint64_t from, last;
	uint32_t location; /* plus 1; 0: empty */
	uint32_t part;	   /* of the chain: kernel, user ... */
};

/* What to do with the samples of one event of the file. */
struct plan {
	uint32_t event; /* of the profile */
	bool is_known, is_live, is_off, is_waking, passes;
	bool has_period;
	bool reads;    /* its samples carry counts, of itself or of its whole group, with ids */
	bool inherits; /* and these counts are those of one thread */
	bool is_plain; /* none of the above, and no stack to be walked: a weight on a chain */
	uint64_t fixed_weight; /* without a period */
	struct chain_way way;
};

struct live_places;
struct shapes;

/* What is known of an image, asked once. */
struct image_note {
	bool is_known;
	enum coati_image_kind kind;
	/* of code without a file: the image of the JIT of the same process, or itself */
	uint32_t jit;
};

/* What a sample stands for: most for one, those that read a group for each of its members. */
struct share {
	uint32_t event; /* of the file; its plan is known */
	uint64_t weight;
};

struct reading {
	struct coati_profile *profile;
	struct coati_recording *recording;
	const struct coati_format_table *formats; /* of it */
	struct coati_processes *processes;
	uint32_t file;
	uint32_t nr_samples; /* SAMPLE records so far, of all kinds */
	uint64_t nr_records;
	enum coati_machine machine;
	ARRAY(struct plan) plans;   /* by event of the file */
	ARRAY(struct share) shares; /* of the sample at hand */
	struct map last_counts;	    /* by id and, where counts are of threads, thread */
	struct chains chains;
	struct shapes *shapes; /* of records that were read ahead; NULL: none are */
	uint32_t note;	       /* what they say of the record at hand; 0: nothing */
	struct off_reading off;
	struct task tasks[READING_TASKS];
	uint32_t task_epoch;   /* changes with every record about tasks and mappings */
	uint32_t kernel_epoch; /* changes with every record about the kernel's code */
	uint64_t start, end;   /* time of the first sample and, where it is needed, of the last */
	uint64_t from, to;     /* what the filter lets through */
	uint64_t bin_from;     /* when the bin of the last sample began */
	uint64_t bin_ns;       /* how long it is; 0: there was none */
	uint32_t bin;	       /* its number */
	uint64_t filtered_before; /* samples of other files that the filter left out */
	bool has_aux;		  /* there are records of a hardware trace */
	uint32_t aux_kind;	  /* as AUXTRACE_INFO numbers them, 0: not said */
	uint64_t aux_bytes;
	bool is_told;	 /* the recorder unwound stacks, and counted how they ended */
	uint64_t cgroup; /* the last one, and its labels */
	ARRAY(struct coati_label) host_labels; /* of the machine: at most READING_HOST_LABELS */
	uint64_t told_wall_ns, told_clock_ns;  /* one instant, by an agent's batch; 0: not said */
	struct map context_sets;	       /* cgroup and context to their set of labels */
	uint32_t cgroup_labels, cgroup_epoch;  /* epoch: of tasks, a later record may name it */
	ARRAY(struct image_note) notes;	       /* by image */
	const char *path;
	bool no_contexts;	      /* a stream does not have them */
	bool finds_labels;	      /* of samples, in the contexts of the profile */
	bool has_told;		      /* live events were seen */
	struct map told_names;	      /* of threads that live events alone tell of: the last */
	uint64_t nr_told, nr_nowhere; /* samples of live events; in no code that is known */
	bool has_names; /* those that travel with the recording were taken, or looked for */
	struct live_places *live_places;   /* PLACES: of live events; NULL: none so far */
	struct spot *spots;		   /* READING_SPOTS */
	uint64_t *words;		   /* CHAIN_WORDS, twice */
	uint32_t *locations;		   /* max_frames */
	struct coati_unwind_frame *frames; /* max_frames */
};

#define READING_HOST_LABELS 32

/* One that is folded into the profile: when and where it was seen. */
struct moment {
	uint64_t time;
	int32_t cpu;	 /* -1: not said */
	uint32_t number; /* as in coati_profile_sample */
};

/* Limits are those of what was read so far; and in the end, a note of each that was reached. */
void coati_reading_allow(struct reading *r);
void coati_reading_limits_end(struct reading *r, uint64_t read_bytes);
/* Empty, for a recording of @p; NULL: out of memory. Its buffers may be missing: has_room() tells.
 * free() closes the recording. */
struct reading *coati_reading_new(struct coati_profile *p);
bool coati_reading_has_room(const struct reading *r);
void coati_reading_free(struct reading *r);
/* The recording becomes a file of the profile. */
int coati_reading_file(struct reading *r, const char *path, struct coati_error *err);
/* The number of a key of the recorder's lines; false: the key is missing, and *ret unchanged. */
bool coati_reading_find_recorder_value(const struct coati_recording *rec, const char *key,
				       uint64_t *ret);
/* Add the counts of the recorder to the data quality; @nr_samples: samples that were read. */
void coati_reading_recorder(struct reading *r, uint64_t nr_samples);
/* The architecture by its name; "" is this machine's. */
enum coati_machine coati_reading_machine(const char *arch);
/* How samples of an event with these attributes give their chains. */
struct chain_way coati_reading_way(const struct reading *r, const struct coati_attr *attr);
/* One record of any kind into the profile. -ENOMEM, or what the profile's on_item returned. */
int coati_reading_take(struct reading *r, const struct coati_recording_item *item);
/* The same for each of a bunch. */
int coati_reading_take_bunch(struct reading *r, const struct recording_bunch *b);
/* The recording's first time is this, unless it is known already. */
void coati_reading_start(struct reading *r, uint64_t time);
/* The thread and the number of its address space, into a slot of tasks[]. -ENOMEM, -E2BIG. */
int coati_reading_find_task(struct reading *r, const struct coati_identity *id, uint64_t time,
			    struct task *t);
/* One sample into the profile. 0; -ENOMEM. What is over a ceiling or is malformed is counted. */
int coati_reading_sample(struct reading *r, const struct coati_recording_item *item);
/* The set of labels of a thread at a time that is in no cgroup that is known. -ENOMEM, -E2BIG. */
int coati_reading_labels(struct reading *r, const struct coati_identity *id, uint64_t time,
			 uint32_t *ret);
/* Weight on the stack of a chain, @e without it; @at->time is 0 when it is unknown. The stack
 * becomes e->stack. -ENOMEM, -E2BIG. */
int coati_reading_add(struct reading *r, const struct chain_key *key, struct coati_profile_entry *e,
		      const struct moment *at);
/* One whose hash is known; likely: see coati_chains_find(). */
struct hashed_key {
	struct chain_key key;
	uint64_t hash;
	uint32_t likely;
};

/* The same where the hash of the chain is known, or the chain, which is right at the time. Hot. */
int coati_reading_add_hashed(struct reading *r, const struct hashed_key *h,
			     struct coati_profile_entry *e, const struct moment *at);
int coati_reading_add_to(struct reading *r, struct chain *chain, struct coati_profile_entry *e,
			 const struct moment *at);
/* The time at which the chain of a sample is looked up: without one, as it was in the end. */
static inline uint64_t chain_time(const struct moment *at)
{
	return at->time ? at->time : UINT64_MAX;
}

/* A record of our own event: names, and samples that programs took of themselves; and when the
 * recording ends. -ENOMEM. */
int coati_reading_live(struct reading *r, const struct coati_recording_item *item,
		       const struct coati_record *rec);
int coati_reading_live_end(struct reading *r);
/* Before it is read: the recording lasts at least until this SAMPLE record of @from, or the samples
 * of live events in it; NULL: there are no more. -ENOMEM. */
int coati_reading_last(struct reading *r, const struct coati_recording *from,
		       const struct coati_recording_item *item);
/* The stack of a chain.  -ENOMEM, -E2BIG. */
int coati_reading_stack(struct reading *r, const struct chain_key *key, uint64_t time,
			struct timed_stack *ret);
/* PLACES: the locations of a chain, without its stack. -ENOMEM. Hot. */
int coati_reading_places(struct reading *r, const struct chain_key *key, uint64_t time);
/* PLACES: one address of a program. 1: the code there is replaced while it runs; -ENOMEM. */
int coati_reading_user_place(struct reading *r, int32_t pid, uint64_t addr, uint64_t time);
/* PLACES: a batch of live events, written at @time; and when the recording ends. -ENOMEM. */
int coati_reading_live_batch(struct reading *r, const void *bytes, size_t size, uint64_t time);
int coati_reading_live_places(struct reading *r);
void coati_live_places_free(struct live_places **lp);
/* The user part from registers and stack copy behind the kernel part of the chain: fills key->words
 * (r->words), nr and mode. false: there is nothing to walk. */
bool coati_reading_walk(struct reading *r, const struct coati_record *rec, uint64_t time,
			struct chain_key *key);
/* AUX, AUXTRACE_INFO or AUXTRACE: a trace of the hardware is counted; and a note of it at the
 * end. */
void coati_reading_aux_record(struct reading *r, const struct coati_recording_item *item);
void coati_reading_aux_end(struct reading *r, const char *path);
/* Symbols that a recording of simpleperf brings, when all of its mappings are known. -ENOMEM. */
int coati_reading_simpleperf(struct reading *r);
/* A batch of our own: names go to the images, rules and labels of an agent to the reading, other
 * kinds are left alone. -ENOMEM; one that is damaged is counted. */
int coati_reading_batch(struct reading *r, const struct coati_recording_item *item,
			const struct coati_record *rec);
/* Is it our own event? */
bool coati_reading_is_live(const struct coati_recording *rec, uint32_t event);
/* Take the names that travel with the recording now, although they are written at its end: where
 * code is replaced, they say when. Done once, and not for streams. -ENOMEM. */
int coati_reading_names(struct reading *r);
uint32_t coati_reading_find_bin(struct reading *r, uint64_t time);
/* Where a thread is looked for, and whether it is there.  Hot. */
static inline struct task *task_slot(struct reading *r, const struct coati_identity *id)
{
	return &r->tasks[(id->tid ^ id->pid << 5) % READING_TASKS];
}

static inline bool task_is(const struct reading *r, const struct task *t,
			   const struct coati_identity *id)
{
	return t->epoch == r->task_epoch && (uint32_t)t->pid == id->pid &&
	       (uint32_t)t->tid == id->tid;
}

/* The thread of a record and the number of its address space. -ENOMEM, -E2BIG.  Hot. */
static inline int reading_task(struct reading *r, const struct coati_identity *id, uint64_t time,
			       struct task **ret)
{
	*ret = task_slot(r, id);
	return task_is(r, *ret, id) ? 0 : coati_reading_find_task(r, id, time, *ret);
}

/* In which bin of time: mostly that of the sample before.  Hot. */
static inline uint32_t reading_bin(struct reading *r, uint64_t time)
{
	if (time - r->bin_from < r->bin_ns && r->bin_ns == r->profile->bin_ns)
		return r->bin;
	return r->profile->bin_ns ? coati_reading_find_bin(r, time) : 0;
}
