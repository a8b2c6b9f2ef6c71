/* SPDX-License-Identifier: MIT */
/* The heap profile as others read it: a file, and the pages heap and allocs. */
#include <errno.h>
#include <inttypes.h>

#include <coati/heap.h>

#include "base/error.h"
#include "live/page.h"
#include "live/profiles/heap.h"

static uint64_t period(void)
{
	return coati_heap_shared.rate;
}

/* What was freed becomes what is in use. */
static void show(double *values)
{
	values[2] = values[0] - values[2];
	values[3] = values[1] - values[3];
}

static void comment(struct strbuf *ret)
{
	struct coati_heap_stats s = { .size = sizeof(s) };

	coati_heap_stats(&s);
	coati_strbuf_printf(ret,
			    "heap: one sample for %" PRIu64 " bytes on average, %" PRIu64
			    " samples in all, %" PRIu64
			    " of them in use; numbers are estimates from these\n",
			    period(), s.samples, s.live);
	if (s.not_live)
		coati_strbuf_printf(
			ret,
			"%" PRIu64
			" samples are missing in what is in use: there were more than %u\n",
			s.not_live, coati_heap_shared.max_live);
}

/* As gperftools has it, with numbers that are not to be scaled. */
static void line(const uint64_t *v, struct strbuf *ret)
{
	coati_strbuf_printf(ret, "%" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "]", v[2], v[3],
			    v[0], v[1]);
}

static void head(const uint64_t *sums, struct strbuf *ret)
{
	coati_strbuf_adds(ret, "heap profile: ");
	line(sums, ret);
	coati_strbuf_adds(ret, " @ heapprofile\n");
}

#define HEAP_FORM(page, first)                                                                  \
	{                                                                                       \
		.name = (page), .store = &coati_heap_shared.store,                              \
		.types = { { "alloc_objects", "count" },                                        \
			   { "alloc_space", "bytes" },                                          \
			   { "inuse_objects", "count" },                                        \
			   { "inuse_space", "bytes" } },                                        \
		.default_type = (first), .period_type = "space", .period_unit = "bytes",        \
		.period = period, .show = show, .comment = comment, .head = head, .line = line, \
		.bytes_of = { 0, 1 },                                                           \
	}
static const struct store_form heap = HEAP_FORM("heap", "inuse_space");
static const struct store_form allocs = HEAP_FORM("allocs", "alloc_space");

int coati_heap_write(int fd, uint32_t flags, struct coati_error *err)
{
	if (flags & ~(COATI_HEAP_NAMES | COATI_HEAP_TEXT | COATI_HEAP_ALLOCS))
		return coati_fail(err, -EINVAL,
				  "heap profile: flags that this library does not know");
	return coati_store_write_fd(flags & COATI_HEAP_ALLOCS ? &allocs : &heap, fd,
				    flags & (STORE_NAMES | STORE_TEXT), err);
}

/* ---- pages ---- */

static uint64_t count_stacks(const struct live_page *page)
{
	struct coati_heap_stats s = { .size = sizeof(s) };

	coati_heap_stats(&s);
	return s.stacks;
}

static void make_heap(struct page_job *job)
{
	coati_store_make_page(&heap, job);
}

static void make_allocs(struct page_job *job)
{
	coati_store_make_page(&allocs, job);
}

static void put_metrics(struct page_metrics *m)
{
	struct coati_heap_stats s = { .size = sizeof(s) };
	uint64_t totals[STORE_VALUES];

	coati_heap_stats(&s);
	coati_store_totals(&coati_heap_shared.store, show, totals);
	m->number(m, "coati_heap_allocated_objects", "counter",
		  "Blocks allocated, estimated from samples.", totals[0]);
	m->number(m, "coati_heap_allocated_bytes", "counter",
		  "Bytes allocated, estimated from samples.", totals[1]);
	m->number(m, "coati_heap_in_use_objects", "gauge", "Blocks in use, estimated from samples.",
		  totals[2]);
	m->number(m, "coati_heap_in_use_bytes", "gauge", "Bytes in use, estimated from samples.",
		  totals[3]);
	m->number(m, "coati_heap_samples", "counter", "Samples of allocations.", s.samples);
}

static const struct live_page heap_page = {
	"heap", "memory in use, by allocating stack", count_stacks, make_heap, 0, put_metrics
};
static const struct live_page allocs_page = {
	"allocs", "memory that was ever allocated", count_stacks, make_allocs, 0, NULL
};

void coati_heap_pages(void)
{
	coati_page_provide(&heap_page);
	coati_page_provide(&allocs_page);
}
