/* SPDX-License-Identifier: MIT */
/*
 * Addresses of many images come in; they are sorted by image, the images are shared out among
 * threads, and each address gets its names from the image's own memory of answers, or for the first
 * time from its file.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/image.h"
#include "image/source.h"

static const struct coati_name no_memory = { .function = "[out of memory]",
					     .flags = COATI_NAME_SYNTHETIC };
static const struct coati_name no_image = { .function = "[unknown]",
					    .flags = COATI_NAME_SYNTHETIC };

/* The addresses of one image. */
struct job {
	struct coati_image *im;
	size_t start, end; /* in the order */
};

struct work {
	struct coati_address *addresses;
	const size_t *order; /* of the addresses, by image */
	struct job *jobs;
	size_t nr_jobs;
	uint32_t flags;
	atomic_size_t next; /* job that no thread has taken yet */
};

int coati_image_put_answer(struct coati_image *im, uint64_t vaddr, const struct answer *a)
{
	struct answer *copy = coati_arena_alloc(&im->arena, sizeof(*copy));
	int r;

	if (!copy)
		return -ENOMEM;
	*copy = *a;
	r = coati_map_put(&im->answers, vaddr, (uintptr_t)copy);
	return r == -ENOMEM ? r : 0;
}

const struct answer *coati_image_get_answer(const struct coati_image *im, uint64_t vaddr)
{
	uint64_t found;

	if (!coati_map_get(&im->answers, vaddr, &found))
		return NULL;
	return (const struct answer *)(uintptr_t)found;
}

static void take_answer(struct coati_address *a, const struct coati_name *names, uint32_t nr)
{
	a->names = names;
	a->nr_names = nr;
}

/* The answer is right from some time on: kept for those who pack. */
static int remember(struct coati_image *im, const struct coati_address *a, uint64_t since)
{
	return coati_versions_add(&im->made, &(struct version){ .vaddr = a->vaddr,
								.from = since,
								.names = a->names,
								.nr = a->nr_names });
}

/* By what lies there in the file, or in the kernel. */
static int find_function(struct coati_image *im, uint64_t vaddr, const struct coati_name **ret)
{
	return im->kind == COATI_IMAGE_KERNEL || im->kind == COATI_IMAGE_MODULE
		       ? coati_image_kernel_function(im, vaddr, ret)
		       : coati_image_function(im, vaddr, ret);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* In order, each once. */
static void sort_near(struct symbols_near *near)
{
	size_t nr = near->nr;

	qsort(near->v, nr, sizeof(*near->v), compare_addresses);
	near->nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (!near->nr || near->v[near->nr - 1] != near->v[i])
			near->v[near->nr++] = near->v[i];
}

/* The addresses of a job in order, each once. */
static int gather(const struct work *w, const struct job *job, struct symbols_near *ret)
{
	size_t nr = 0;

	ret->v = coati_alloc_array(job->end - job->start, sizeof(*ret->v));
	if (!ret->v)
		return -ENOMEM;
	for (size_t i = job->start; i < job->end; i++)
		ret->v[nr++] = w->addresses[w->order[i]].vaddr;
	ret->nr = nr;
	sort_near(ret);
	return 0;
}

static int load(const struct work *w, const struct job *job)
{
	struct symbols_near near = { 0 };
	int r = job->im->loaded ? 0 : gather(w, job, &near);

	if (r == 0)
		r = coati_image_load_near(job->im, &near);
	coati_free(near.v);
	return r;
}

static int resolve_one(const struct work *w, const struct job *job, struct coati_address *a)
{
	struct coati_image *im = job->im;
	uint64_t time = a->time ? a->time : UINT64_MAX, since, last;
	const struct version *told = coati_versions_find(&im->told, a->vaddr, time, &since, &last);
	const struct coati_name *name = NULL;
	const struct answer *known;
	int r;

	if (told) {
		take_answer(a, told->names, told->nr);
		return 0;
	}
	/* code that is replaced has another name at another time */
	r = coati_image_jit_function(im, a->vaddr, time, &name, &since);
	known = coati_image_get_answer(im, a->vaddr);
	if (r == 0 && !name && known) {
		take_answer(a, known->names, known->nr);
		return since ? remember(im, a, since) : 0;
	}
	/* only now: a file whose names are all known is not indexed */
	if (r == 0 && !name)
		r = load(w, job);
	if (r == 0 && !name)
		r = find_function(im, a->vaddr, &name);
	if (r < 0)
		return r;
	take_answer(a, name, 1);
	if (since || is_changing_code(im->kind))
		return remember(im, a, since);
	return coati_image_put_answer(im, a->vaddr, &(struct answer){ .names = name, .nr = 1 });
}

/* Once more for all that wanted more than the function. */
static int resolve_lines(struct work *w, const struct job *job)
{
	size_t nr = job->end - job->start;
	CLEANUP(freep) uint64_t *vaddrs = coati_alloc_array(nr, sizeof(*vaddrs));
	int r;

	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = w->addresses[w->order[job->start + i]].vaddr;
	r = coati_image_add_lines(job->im, vaddrs, nr, w->flags);
	for (size_t i = job->start; i < job->end && r == 0; i++) {
		struct coati_address *a = &w->addresses[w->order[i]];
		const struct answer *known = coati_image_get_answer(job->im, a->vaddr);

		if (known)
			take_answer(a, known->names, known->nr);
	}
	return r;
}

/* One image for whose names there is no memory does not take the others theirs. */
static void give_up(struct work *w, const struct job *job)
{
	if (!job->im->why)
		job->im->why = "there is no memory for its names";
	for (size_t i = job->start; i < job->end; i++)
		if (!w->addresses[w->order[i]].nr_names)
			take_answer(&w->addresses[w->order[i]], &no_memory, 1);
}

static int run_job(struct work *w, const struct job *job)
{
	int r = 0;

	for (size_t i = job->start; i < job->end && r == 0; i++)
		r = resolve_one(w, job, &w->addresses[w->order[i]]);
	if (r == 0 && w->flags && job->im->kind == COATI_IMAGE_FILE)
		r = resolve_lines(w, job);
	if (job->im->all->give_back_bytes)
		coati_image_give_back(job->im, job->im->all->give_back_bytes);
	return r;
}

static void *run_jobs(void *arg)
{
	struct work *w = arg;

	for (;;) {
		/* relaxed: only the number counts; the jobs were written before the threads
		 * began */
		size_t i = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);

		if (i >= w->nr_jobs)
			return NULL;
		if (run_job(w, &w->jobs[i]) < 0)
			give_up(w, &w->jobs[i]);
	}
}

/* Names that came with a recording for a copy of the file are right for this one, too. Before the
 * threads start: each of them has the answers of one image to itself. */
static int take_from_copies(struct coati_images *images, const struct coati_address *addresses,
			    size_t nr)
{
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++) {
		struct coati_image *im = coati_image_at(images, addresses[i].image);
		const struct answer *known;

		if (!im || !im->same || coati_image_get_answer(im, addresses[i].vaddr))
			continue;
		known = coati_image_get_answer(im->same, addresses[i].vaddr);
		if (known && known->packed)
			r = coati_image_put_answer(im, addresses[i].vaddr, known);
	}
	return r;
}

/* As many threads as there is work for; we are one of them. */
static void share_out(struct work *w, uint32_t nr_threads)
{
	pthread_t threads[64];
	uint32_t nr = 0;

	if (nr_threads > w->nr_jobs)
		nr_threads = (uint32_t)w->nr_jobs;
	while (nr + 1 < nr_threads && nr < 64 &&
	       pthread_create(&threads[nr], NULL, run_jobs, w) == 0)
		nr++;
	run_jobs(w);
	for (uint32_t i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

/* Addresses in the order of their images (counting sort); those without an image are answered at
 * once and left out. */
static size_t sort_by_image(const struct coati_images *images, struct coati_address *addresses,
			    size_t nr, size_t *starts, size_t *order)
{
	size_t nr_images = images->v.len, kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (addresses[i].image < nr_images)
			starts[addresses[i].image + 1]++;
		else
			take_answer(&addresses[i], &no_image, 1);
	}
	for (size_t i = 0; i < nr_images; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 0; i < nr; i++) {
		if (addresses[i].image >= nr_images)
			continue;
		order[starts[addresses[i].image]++] = i;
		kept++;
	}
	return kept;
}

static size_t make_jobs(const struct coati_images *images, const struct coati_address *addresses,
			const size_t *order, size_t nr, struct job *jobs)
{
	size_t nr_jobs = 0, end;

	for (size_t i = 0; i < nr; i = end) {
		uint32_t image = addresses[order[i]].image;

		for (end = i + 1; end < nr && addresses[order[end]].image == image;)
			end++;
		jobs[nr_jobs++] = (struct job){ images->v.v[image], i, end };
	}
	return nr_jobs;
}

static bool is_kernel(const struct coati_images *images, const struct coati_address *a)
{
	const struct coati_image *im = coati_image_at(images, a->image);

	return im && (im->kind == COATI_IMAGE_KERNEL || im->kind == COATI_IMAGE_MODULE);
}

/* What of the kernel's symbols is needed, before the threads start: what is asked for now; more,
 * when that was read already and is not enough. Those that the kernel was asked for stay named. */
static int prepare_kernel(struct coati_images *images, const struct coati_address *addresses,
			  size_t nr)
{
	struct kernel *k = &images->kernel;
	struct symbols_near near = { 0 };
	size_t asked = 0;
	bool has_all = true;

	for (size_t i = 0; i < nr; i++)
		if (is_kernel(images, &addresses[i])) {
			asked++;
			has_all &= coati_kernel_has(k, addresses[i].vaddr);
		}
	if (k->tried)
		return has_all ? 0 : coati_images_read_kernel(images);
	if (!asked)
		return 0;
	near.v = coati_alloc_array(asked, sizeof(*near.v));
	if (!near.v)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (is_kernel(images, &addresses[i]))
			near.v[near.nr++] = addresses[i].vaddr;
	sort_near(&near);
	coati_free(k->near.v);
	k->near = near;
	return 0;
}

int coati_images_resolve(struct coati_images *images, struct coati_address *addresses, size_t nr,
			 uint32_t flags, struct coati_error *err)
{
	size_t nr_images = images->v.len;
	CLEANUP(freep) size_t *starts = coati_alloc_array(nr_images + 1, sizeof(*starts));
	CLEANUP(freep) size_t *order = coati_alloc_array(nr ? nr : 1, sizeof(*order));
	CLEANUP(freep)
	struct job *jobs = coati_alloc_array(nr_images ? nr_images : 1, sizeof(*jobs));
	struct work w = { .addresses = addresses,
			  .order = order,
			  .jobs = jobs,
			  .flags = flags & (COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES) };

	if (!starts || !order || !jobs || take_from_copies(images, addresses, nr) < 0 ||
	    prepare_kernel(images, addresses, nr) < 0)
		return coati_fail(err, -ENOMEM, "out of memory");
	nr = sort_by_image(images, addresses, nr, starts, order);
	w.nr_jobs = make_jobs(images, addresses, order, nr, jobs);
	share_out(&w, images->nr_threads);
	return 0;
}
