/* SPDX-License-Identifier: MIT */
/* The model as a whole: made, freed, counted; what it keeps apart from processes and threads. */
#include "process/processes.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"

#define THREADS_MAX_DEFAULT  (UINT64_C(1) << 20)
#define MAPPINGS_MAX_DEFAULT (UINT64_C(1) << 22)
#define TEXT_BYTES_MAX	     ((size_t)1 << 30)
#define NAMES_MAX	     ((size_t)1 << 23)
#define NAME_BYTES_MAX	     4096
#define NAME_ROOM	     4096 /* of the arena, for what is no name */
#define NO_NAME		     "[over the limit]"
#define CGROUPS_MAX	     ((size_t)1 << 20)
#define BUILD_IDS_MAX	     ((size_t)1 << 20)

static int init(struct coati_processes *ps, const struct coati_processes_opts *o)
{
	ps->flags = o->flags;
	ps->max_threads = o->max_threads ? o->max_threads : THREADS_MAX_DEFAULT;
	ps->max_mappings = o->max_mappings ? o->max_mappings : MAPPINGS_MAX_DEFAULT;
	ps->max_spaces = 2 * ps->max_threads;
	ps->is_fixed = o->max_threads || o->max_mappings;
	ps->next_epoch = 1;
	ps->thread_change = 1;
	coati_arena_init(&ps->arena, TEXT_BYTES_MAX);
	coati_map_init(&ps->pids, ps->max_spaces);
	coati_map_init(&ps->tids, ps->max_threads);
	coati_map_init_strings(&ps->names, NAMES_MAX);
	coati_map_init(&ps->cgroups, CGROUPS_MAX);
	coati_map_init_strings(&ps->build_ids, BUILD_IDS_MAX);
	coati_map_init(&ps->origins.by_hash, NAMES_MAX);
	ps->origins.v.max = NAMES_MAX;
	ps->procfs = coati_strdup(o->procfs ? o->procfs : "/proc");
	if (!ps->procfs || coati_pid_slot_init(ps, &ps->kernel, -1) < 0)
		return -ENOMEM;
	ps->stats.processes = 0; /* the kernel is none */
	ps->nr_spaces = 0;
	ps->next_process = 0;
	return 0;
}

int coati_processes_new(struct coati_images *images, const struct coati_processes_opts *opts,
			struct coati_processes **ret, struct coati_error *err)
{
	struct coati_processes_opts o;
	struct coati_processes *ps;
	int r = images ? SIZED_COPY(&o, opts) : -EINVAL;

	if (r < 0)
		return coati_fail(err, r,
				  "options of processes: no images, wrong size or unknown option");
	ps = coati_alloc(sizeof(*ps));
	if (!ps)
		return coati_fail(err, -ENOMEM, "out of memory");
	ps->images = images;
	if (init(ps, &o) < 0) {
		coati_processes_free(&ps);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	*ret = ps;
	return 0;
}

void coati_processes_free(struct coati_processes **all)
{
	struct coati_processes *ps = *all;
	uint64_t key, value;
	size_t pos = 0;

	if (!ps)
		return;
	while (coati_map_next(&ps->pids, &pos, &key, &value)) {
		struct pid_slot *slot = (struct pid_slot *)(uintptr_t)value;

		coati_pid_slot_fini(ps, slot);
		coati_free(slot);
	}
	for (pos = 0; coati_map_next(&ps->tids, &pos, &key, &value);)
		coati_tid_slot_free((struct tid_slot *)(uintptr_t)value);
	coati_pid_slot_fini(ps, &ps->kernel);
	coati_map_fini(&ps->pids);
	coati_map_fini(&ps->tids);
	coati_map_fini(&ps->names);
	coati_map_fini(&ps->cgroups);
	coati_map_fini(&ps->build_ids);
	coati_map_fini(&ps->origins.by_hash);
	ARRAY_FINI(&ps->origins.v);
	coati_arena_fini(&ps->arena);
	coati_free(ps->procfs);
	coati_free(ps);
	*all = NULL;
}

void coati_processes_allow(struct coati_processes *ps, const struct limits *limits,
			   uint64_t input_bytes)
{
	uint64_t threads = coati_limit(limits, LIMIT_THREADS, input_bytes);
	uint64_t spaces = coati_limit(limits, LIMIT_PROCESSES, input_bytes);
	uint64_t names = coati_limit(limits, LIMIT_NAMES, input_bytes);

	if (ps->is_fixed)
		return;
	ps->max_threads = threads;
	ps->max_spaces = spaces;
	ps->max_mappings = coati_limit(limits, LIMIT_MAPPINGS, input_bytes);
	ps->tids.max = threads < SIZE_MAX ? (size_t)threads : SIZE_MAX;
	ps->pids.max = spaces < SIZE_MAX ? (size_t)spaces : SIZE_MAX;
	ps->arena.max_bytes = names < SIZE_MAX / 4 ? (size_t)names : SIZE_MAX / 4;
}

uint64_t coati_processes_over(const struct coati_processes *ps, enum limit which)
{
	return ps->over[which];
}

const char *coati_processes_name(struct coati_processes *ps, const char *text, size_t max)
{
	char cut[NAME_BYTES_MAX + 1];
	size_t len = strnlen(text, max < NAME_BYTES_MAX ? max : NAME_BYTES_MAX);
	const char *copy;
	uint64_t kept;

	memcpy(cut, text, len);
	cut[len] = '\0';
	if (coati_map_get_str(&ps->names, cut, &kept))
		return (const char *)(uintptr_t)kept;
	if (ps->arena.used_bytes + len + NAME_ROOM > ps->arena.max_bytes ||
	    ps->names.len >= NAMES_MAX) {
		ps->over[LIMIT_NAMES]++;
		return NO_NAME;
	}
	copy = coati_arena_strndup(&ps->arena, cut, len);
	if (!copy || coati_map_put_str(&ps->names, copy, (uintptr_t)copy) < 0)
		return NULL;
	return copy;
}

int coati_processes_build_id(struct coati_processes *ps, const char *path, const uint8_t *id,
			     uint32_t id_size)
{
	struct path_build_id *kept;
	const char *name;
	int r;

	if (!id_size || id_size > COATI_BUILD_ID_MAX)
		return -EINVAL;
	name = coati_processes_name(ps, path, SIZE_MAX);
	if (name && ps->arena.used_bytes + NAME_ROOM > ps->arena.max_bytes) {
		ps->over[LIMIT_NAMES]++;
		return 0;
	}
	kept = name ? coati_arena_alloc(&ps->arena, sizeof(*kept)) : NULL;
	if (!kept)
		return -ENOMEM;
	kept->size = id_size;
	memcpy(kept->id, id, id_size);
	r = coati_map_put_str(&ps->build_ids, name, (uintptr_t)kept);
	return r < 0 ? r : 0;
}

const char *coati_processes_cgroup(struct coati_processes *ps, uint64_t id)
{
	uint64_t found;

	return coati_map_get(&ps->cgroups, id, &found) ? (const char *)(uintptr_t)found : NULL;
}

void coati_processes_get_stats(const struct coati_processes *ps, struct coati_processes_stats *ret)
{
	*ret = ps->stats;
}
