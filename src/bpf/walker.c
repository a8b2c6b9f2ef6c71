/* SPDX-License-Identifier: MIT */
/* The walker's life: loading, attaching, closing. What it walks by is publish.c. */
#include "bpf/walker.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bpf/kernel-types.h"
#include "bpf/open.h"
#include "bpf/walker-object.h"

#define RODATA_MAX 4096

static const char *const programs[WALKER_AT_COUNT] = { "on_sample", "on_tracepoint", "on_probe" };

static const char *const followers[WALKER_FOLLOWERS] = { "on_mapping", "on_fork", "on_exit",
							 "on_free", "on_exec" };
/* by enum walker_target */
static const char *const target_maps[] = { "threads", "processes" };

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static void walker_closep(struct walker **w)
{
	coati_walker_close(w);
}

static int fail_load(int code, struct coati_error *err)
{
	if (code == -EPERM || code == -EACCES)
		return coati_fail(
			err, -EPERM,
			"you may not load BPF programs; run as root, or with the capabilities "
			"CAP_BPF and CAP_PERFMON");
	if (code == -ENOMEM)
		return coati_fail(err, code, "out of memory for the stack walker in the kernel");
	return coati_fail(
		err, -EOPNOTSUPP,
		"this kernel does not load the stack walker (%s); Linux 5.17 or newer with "
		"BTF (CONFIG_DEBUG_INFO_BTF) is needed",
		strerror(-code));
}

static void settle_config(const struct walker_opts *o, struct walker_config *ret)
{
	*ret = o->config;
	if (!ret->max_frames || ret->max_frames > WALKER_FRAMES_MAX)
		ret->max_frames = ret->max_frames ? WALKER_FRAMES_MAX : 512;
	if (!ret->stack_bytes || ret->stack_bytes > WALKER_COPY_BYTES)
		ret->stack_bytes = WALKER_COPY_BYTES;
	if (!ret->need_ns)
		ret->need_ns = WALKER_NEED_NS;
	if (!ret->burst_bytes)
		ret->burst_bytes = WALKER_BURST_BYTES;
}

/* Are there targets that it must know? */
static bool needs_targets(const struct walker_opts *o)
{
	return o->config.filters_samples ||
	       (o->config.has_targets && o->at & ~(1u << WALKER_AT_SAMPLES));
}

static int choose_programs(struct walker *w, const struct walker_opts *o,
			   const struct kernel_types *types)
{
	for (int i = 0; i < WALKER_AT_COUNT + WALKER_FOLLOWERS; i++) {
		int follower = i - WALKER_AT_COUNT;
		struct bpf_program *p = w->lib.find_program(
			w->object, follower < 0 ? programs[i] : followers[follower]);
		bool is_wanted = follower < 0 ? o->at >> i & 1
				 : follower == WALKER_FOLLOWS_MAPPINGS
					 ? types->structs >> KERNEL_MAPPING & 1
					 : w->has_targets;

		if (!p)
			return -EINVAL;
		(void)w->lib.set_autoload(p, is_wanted);
	}
	return 0;
}

/* Their memory is taken whole, and needed by few. */
static int size_targets(struct walker *w)
{
	int r = 0;

	for (int i = 0; r >= 0 && !w->has_targets && i < 2; i++)
		r = w->lib.set_max_entries(w->lib.find_map(w->object, target_maps[i]), 1);
	return r;
}

/* Sizes and constants, before anything is made in the kernel. */
static int prepare(struct walker *w, const struct walker_opts *o, const struct kernel_types *types)
{
	struct bpf_map *rodata = w->lib.find_map(w->object, ".rodata");
	const struct {
		const char *map;
		uint32_t nr;
	} per_cpu[] = { { "works", w->nr_works },
			{ "stacks", w->nr_cpus },
			{ "needs", w->nr_cpus } };
	struct walker_config config;
	size_t size = 0;
	const void *bytes = rodata ? w->lib.initial_value(rodata, &size) : NULL;
	uint8_t constants[RODATA_MAX];
	int r;

	settle_config(o, &config);
	config.probe_works = w->nr_works - w->nr_cpus;
	/* it is the first in its section: checked, so that a compiler cannot change it unseen */
	if (!bytes || size < sizeof(config) || size > sizeof(constants) ||
	    ((const struct walker_config *)bytes)->max_frames != 512)
		return -EINVAL;
	if (choose_programs(w, o, types) < 0)
		return -EINVAL;
	memcpy(constants, bytes, size);
	memcpy(constants, &config, sizeof(config));
	r = w->lib.set_initial_value(rodata, constants, size);
	for (size_t i = 0; r >= 0 && i < sizeof(per_cpu) / sizeof(per_cpu[0]); i++) {
		struct bpf_map *map = w->lib.find_map(w->object, per_cpu[i].map);

		r = map ? w->lib.set_max_entries(map, per_cpu[i].nr) : -EINVAL;
	}
	return r < 0 ? r : size_targets(w);
}

static int fd_of(const struct walker *w, const char *map)
{
	struct bpf_map *m = w->lib.find_map(w->object, map);

	return m ? w->lib.map_fd(m) : -ENOENT;
}

static size_t map_bytes(size_t element, size_t nr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (element + 7) / 8 * 8 * nr;

	return (bytes + page - 1) / page * page;
}

static int map_one(const struct walker *w, const char *name, size_t bytes, int prot, void **ret)
{
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd_of(w, name), 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static int map_all(struct walker *w)
{
	const struct {
		const char *name;
		size_t bytes;
		int prot;
		void **to;
	} maps[] = {
		{ "files", w->files_bytes, PROT_READ | PROT_WRITE, (void **)&w->files },
		{ "works", w->works_bytes, PROT_READ, (void **)&w->works },
		{ "changes", w->changes_bytes, PROT_READ, (void **)&w->changes },
		{ ".bss", w->control_bytes, PROT_READ | PROT_WRITE, (void **)&w->control },
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		int r = map_one(w, maps[i].name, maps[i].bytes, maps[i].prot, maps[i].to);

		if (r < 0)
			return r;
	}
	w->arena.reclaims = &w->control->reclaims;
	return 0;
}

static int find_all(struct walker *w)
{
	for (int i = 0; i < WALKER_AT_COUNT; i++)
		w->program_fds[i] = w->lib.program_fd(w->lib.find_program(w->object, programs[i]));
	w->arena.lib = &w->lib;
	w->arena.outer_fd = fd_of(w, "chunks");
	w->spaces_fd = fd_of(w, "spaces");
	w->stacks_fd = fd_of(w, "stacks");
	w->needs_fd = fd_of(w, "needs");
	for (int i = 0; i < 2; i++)
		w->target_fds[i] = fd_of(w, target_maps[i]);
	w->files_bytes = map_bytes(sizeof(struct walker_file), WALKER_FILES_MAX);
	w->works_bytes = map_bytes(sizeof(struct walker_work), w->nr_works);
	w->changes_bytes = map_bytes(sizeof(uint64_t), WALKER_CHANGES);
	w->control_bytes = map_bytes(sizeof(struct walker_control), 1);
	return map_all(w);
}

/* The types as a file, because that is how libbpf takes them. */
static int make_types(struct kernel_types *types)
{
	CLEANUP(fd_closep) int fd = -1;
	int r = coati_kernel_types_read(types);

	if (r < 0)
		return r;
	fd = memfd_create("coati-types", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, types->bytes, types->size) != (ssize_t)types->size)
		return -EIO;
	return TAKE_FD(fd);
}

/* Open and load the object, whose places in the kernel's structs are those of @types_fd. */
static int load_object(struct walker *w, const struct walker_opts *o,
		       const struct kernel_types *types, int types_fd)
{
	char path[64];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types_fd);
	w->object = w->lib.open_mem(coati_walker_object, sizeof(coati_walker_object), &opts);
	r = w->object ? prepare(w, o, types) : -errno;
	return r < 0 ? r : w->lib.load(w->object);
}

/* Kernels before 5.8 do not tell of mappings: there only sizes do. */
static int attach_followers(struct walker *w)
{
	for (int i = 0; i < WALKER_FOLLOWERS; i++) {
		if (i != WALKER_FOLLOWS_MAPPINGS && !w->has_targets)
			continue;
		w->links[i] = w->lib.attach(w->lib.find_program(w->object, followers[i]));
		if (!w->links[i] && i != WALKER_FOLLOWS_MAPPINGS)
			return -errno;
	}
	return 0;
}

static int load(struct walker *w, const struct walker_opts *o, struct coati_error *err)
{
	libbpf_print_fn_t before = w->lib.set_print(quiet);
	struct kernel_types types;
	CLEANUP(fd_closep) int fd = make_types(&types);
	int r = fd < 0 ? fd : load_object(w, o, &types, fd);

	if (r >= 0)
		r = find_all(w);
	if (r >= 0)
		r = attach_followers(w);
	w->lib.set_print(before);
	return r < 0 ? fail_load(r, err) : 0;
}

/* Without these nothing can be loaded, and it is faster to know it than to try. */
static bool is_allowed(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	uint64_t caps;

	if (syscall(SYS_capget, &head, data) < 0)
		return true;
	caps = (uint64_t)data[1].effective << 32 | data[0].effective;
	return caps >> CAP_SYS_ADMIN & 1 || (caps >> CAP_BPF & 1 && caps >> CAP_PERFMON & 1);
}

int coati_walker_open(const struct walker_opts *opts, struct walker **ret, struct coati_error *err)
{
	CLEANUP(walker_closep) struct walker *w = coati_alloc(sizeof(*w));
	uint64_t budget = opts->budget_bytes ? opts->budget_bytes : WALKER_BUDGET_BYTES;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int r;

	if (!w)
		return fail_load(-ENOMEM, err);
	if (!is_allowed())
		return fail_load(-EPERM, err);
	coati_walker_publish_init(w);
	w->nr_cpus = cpus > 0 ? (uint32_t)cpus : 1;
	w->nr_works = w->nr_cpus << (opts->at >> WALKER_AT_PROBES & 1);
	w->has_targets = needs_targets(opts);
	r = coati_libbpf_load(&w->lib, err);
	if (r < 0)
		return r;
	if (coati_walker_arena_init(&w->arena, budget) < 0)
		return fail_load(-ENOMEM, err);
	r = load(w, opts, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void coati_walker_close(struct walker **wp)
{
	struct walker *w = *wp;

	if (!w)
		return;
	*wp = NULL;
	if (w->files)
		munmap(w->files, w->files_bytes);
	if (w->works)
		munmap(w->works, w->works_bytes);
	if (w->changes)
		munmap(w->changes, w->changes_bytes);
	if (w->control)
		munmap(w->control, w->control_bytes);
	for (int i = 0; i < WALKER_FOLLOWERS; i++)
		if (w->links[i])
			w->lib.link_destroy(w->links[i]);
	coati_walker_arena_fini(&w->arena);
	coati_walker_publish_fini(w);
	if (w->object)
		w->lib.close(w->object);
	coati_free(w);
}

int coati_walker_attach(struct walker *w, int event_fd, enum walker_at at)
{
	return ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, w->program_fds[at]) < 0 ? -errno : 0;
}

void coati_walker_run(struct walker *w, bool runs)
{
	__atomic_store_n(&w->control->runs, runs, __ATOMIC_RELAXED);
}

bool coati_walker_has_targets(const struct walker *w)
{
	return w->has_targets;
}

int coati_walker_add_target(struct walker *w, enum walker_target kind, int32_t number)
{
	uint32_t key = (uint32_t)number, is = WALKER_IS_GIVEN;

	return w->lib.map_update(w->target_fds[kind], &key, &is, BPF_ANY) < 0 ? -errno : 0;
}

void coati_walker_end_target(struct walker *w, enum walker_target kind, int32_t number)
{
	uint32_t key = (uint32_t)number, is = 0;

	/* else the walker saw it, and has counted it */
	if (w->lib.map_take(w->target_fds[kind], &key, &is) == 0 && is == WALKER_IS_GIVEN)
		__atomic_fetch_add(&w->control->ended, 1, __ATOMIC_RELAXED);
}

uint32_t coati_walker_ended(const struct walker *w)
{
	return __atomic_load_n(&w->control->ended, __ATOMIC_RELAXED);
}

int coati_walker_connect(struct walker *w, enum walker_output output, int32_t cpu, int fd)
{
	uint32_t key = (uint32_t)cpu;

	if (cpu < 0 || key >= w->nr_cpus)
		return -ERANGE;
	return w->lib.map_update(output == WALKER_STACKS ? w->stacks_fd : w->needs_fd, &key, &fd,
				 BPF_ANY) < 0
		       ? -errno
		       : 0;
}

static void add_work(const struct walker_work *from, struct walker_stats *to)
{
	for (int i = 0; i < WALKER_ENDS; i++)
		to->ends[i] += from->ends[i];
	to->walks += from->walks;
	to->frames += from->frames;
	to->misses += from->misses;
	to->copies += from->copies;
	to->refused += from->refused;
	to->needs += from->needs;
	to->checks += from->checks;
	to->dropped += from->dropped;
}

static void add_run(const struct walker *w, int fd, struct walker_stats *ret)
{
	struct bpf_prog_info info;
	uint32_t size = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (w->lib.get_info(fd, &info, &size) < 0)
		return;
	ret->run_ns += info.run_time_ns;
	ret->runs += info.run_cnt;
}

void coati_walker_get_stats(const struct walker *w, struct walker_stats *ret)
{
	*ret = (struct walker_stats){ 0 };
	for (uint32_t i = 0; i < w->nr_works; i++)
		add_work(&w->works[i], ret);
	for (int i = 0; i < WALKER_AT_COUNT; i++)
		if (w->program_fds[i] >= 0)
			add_run(w, w->program_fds[i], ret);
}
