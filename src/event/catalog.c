/* SPDX-License-Identifier: MIT */
/* Walking from source to source, and the sources that are tables. */
#include "event/catalog.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/match.h"
#include "base/sized.h"
#include "event/calls.h"
#include "event/names.h"

/* ---- shared by the sources ---- */

bool coati_catalog_match(const struct coati_catalog *cat, const char *name, const char *alias)
{
	if (!cat->glob)
		return true;
	if (!cat->glob_is_pattern)
		return strcasestr(name, cat->glob) || strcasestr(alias, cat->glob);
	return coati_glob_match(cat->glob, name) ||
	       (alias[0] && coati_glob_match(cat->glob, alias));
}

int coati_catalog_add_gap(struct coati_catalog *cat, const char *text)
{
	const char **gap = ARRAY_ADD(&cat->gaps);

	if (!gap)
		return cat->gaps.len == cat->gaps.max ? 0 : -ENOMEM;
	*gap = coati_arena_strdup(&cat->arena, text);
	if (!*gap)
		cat->gaps.len--;
	return *gap ? 0 : -ENOMEM;
}

/* Would the kernel take it, for the calling thread and user space? */
static int32_t probe_attr(uint32_t type, uint64_t config)
{
	const struct event_calls *calls = &coati_event_calls;
	struct open_args args = {
		.pid = 0, .cpu = -1, .group_fd = -1, .flags = COATI_OPEN_CLOEXEC
	};
	int fd;

	args.attr.type = type;
	args.attr.config = config;
	args.attr.size = COATI_ATTR_SIZE_VER0;
	args.attr.flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV;
	fd = calls->open(calls->ctx, &args);
	if (fd < 0)
		return 0;
	calls->close(calls->ctx, fd, type);
	return 1;
}

/* ---- tables ---- */

static const char *symbol_unit(const struct event_symbol *s)
{
	bool is_clock = s->kind == COATI_EVENT_SOFTWARE &&
			(s->config == COATI_SW_CPU_CLOCK || s->config == COATI_SW_TASK_CLOCK);

	return is_clock || s->kind == COATI_EVENT_TOOL ? "ns" : "";
}

static int next_symbol(struct coati_catalog *cat, struct coati_event_info *ret,
		       enum coati_event_kind kind)
{
	const struct event_symbol *s;

	while ((s = coati_symbol_get(cat->i++))) {
		if (s->kind != kind || !coati_catalog_match(cat, s->name, s->alias))
			continue;
		ret->name = s->name;
		ret->alias = s->alias;
		ret->description = s->description;
		if (kind == COATI_EVENT_TOOL)
			ret->available = 1;
		else if (cat->want_probe)
			ret->available = probe_attr(s->type, s->config);
		ret->unit = symbol_unit(s);
		return 1;
	}
	return 0;
}

static int next_hardware(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_symbol(cat, ret, COATI_EVENT_HARDWARE);
}

static int next_software(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_symbol(cat, ret, COATI_EVENT_SOFTWARE);
}

static int next_tool(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_symbol(cat, ret, COATI_EVENT_TOOL);
}

static int next_cache(struct coati_catalog *cat, struct coati_event_info *ret)
{
	while (cat->i < CACHE_EVENTS_MAX) {
		unsigned int n = (unsigned int)cat->i++;
		const char *name = coati_cache_name(n / 6, n / 2 % 3, n % 2);

		if (!name || !coati_catalog_match(cat, name, ""))
			continue;
		ret->name = name;
		if (cat->want_probe)
			ret->available = probe_attr(COATI_TYPE_HW_CACHE,
						    COATI_CACHE(n / 6, n / 2 % 3, n % 2));
		return 1;
	}
	return 0;
}

/* Events without an end: how they are written. */
static const struct form {
	enum coati_event_kind kind;
	const char *name, *alias, *description;
	const char *pmu; /* that must be there; NULL: none */
} forms[] = {
	{ COATI_EVENT_RAW, "rHEX", "TYPE:CONFIG", "code of the CPU's manual, or bare numbers",
	  NULL },
	{ COATI_EVENT_BREAKPOINT, "mem:ADDRESS[/LENGTH][:rwx]", "",
	  "accesses to an address, caught by the CPU", "breakpoint" },
	{ COATI_EVENT_KPROBE, "kprobe:SYMBOL[+OFFSET]", "", "calls of a function of the kernel",
	  "kprobe" },
	{ COATI_EVENT_KPROBE, "kretprobe:SYMBOL", "", "returns from a function of the kernel",
	  "kprobe" },
	{ COATI_EVENT_UPROBE, "uprobe:PATH:SYMBOL[+OFFSET]", "u:PATH:SYMBOL[+OFFSET]",
	  "calls of a function of a program or library", "uprobe" },
	{ COATI_EVENT_UPROBE, "uretprobe:PATH:SYMBOL", "ur:PATH:SYMBOL",
	  "returns from a function of a program or library", "uprobe" },
	{ COATI_EVENT_USDT, "usdt:PATH:PROVIDER:NAME", "", "static probe in a program or library",
	  "uprobe" },
};

static int32_t probe_pmu(const struct coati_catalog *cat, const char *name)
{
	struct pmu p;

	if (coati_pmu_open(cat->sysfs, name, &p) < 0)
		return 0;
	coati_pmu_close(&p);
	return 1;
}

static int next_form(struct coati_catalog *cat, struct coati_event_info *ret,
		     enum coati_event_kind kind)
{
	while (cat->i < sizeof(forms) / sizeof(forms[0])) {
		const struct form *f = &forms[cat->i++];

		if (f->kind != kind || !coati_catalog_match(cat, f->name, f->alias))
			continue;
		ret->name = f->name;
		ret->alias = f->alias;
		ret->description = f->description;
		if (cat->want_probe && f->pmu)
			ret->available = probe_pmu(cat, f->pmu);
		return 1;
	}
	return 0;
}

static int next_raw(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_form(cat, ret, COATI_EVENT_RAW);
}

static int next_breakpoint(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_form(cat, ret, COATI_EVENT_BREAKPOINT);
}

static int next_kprobe(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_form(cat, ret, COATI_EVENT_KPROBE);
}

static int next_uprobe(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_form(cat, ret, COATI_EVENT_UPROBE);
}

static int next_usdt(struct coati_catalog *cat, struct coati_event_info *ret)
{
	return next_form(cat, ret, COATI_EVENT_USDT);
}

static const struct {
	enum coati_event_kind kind;
	int (*next)(struct coati_catalog *cat, struct coati_event_info *ret);
} sources[] = {
	{ COATI_EVENT_HARDWARE, next_hardware },
	{ COATI_EVENT_SOFTWARE, next_software },
	{ COATI_EVENT_CACHE, next_cache },
	{ COATI_EVENT_RAW, next_raw },
	{ COATI_EVENT_PMU, coati_catalog_next_pmu },
	{ COATI_EVENT_TRACEPOINT, coati_catalog_next_tracepoint },
	{ COATI_EVENT_BREAKPOINT, next_breakpoint },
	{ COATI_EVENT_KPROBE, next_kprobe },
	{ COATI_EVENT_UPROBE, next_uprobe },
	{ COATI_EVENT_USDT, next_usdt },
	{ COATI_EVENT_TOOL, next_tool },
};

/* ---- the catalog ---- */

static int copy_opts(struct coati_catalog *cat, const struct coati_catalog_opts *o)
{
	cat->kinds = o->kinds ? o->kinds : UINT32_MAX;
	cat->want_fields = o->fields;
	cat->want_probe = o->probe;
	cat->glob = o->glob && o->glob[0] ? coati_strdup(o->glob) : NULL;
	cat->sysfs = coati_strdup(o->sysfs ? o->sysfs : "/sys");
	cat->tracefs = o->tracefs ? coati_strdup(o->tracefs) : NULL;
	if ((o->glob && o->glob[0] && !cat->glob) || !cat->sysfs || (o->tracefs && !cat->tracefs))
		return -ENOMEM;
	cat->glob_is_pattern = cat->glob && coati_is_glob(cat->glob);
	return 0;
}

int coati_catalog_open(const struct coati_catalog_opts *opts, struct coati_catalog **ret,
		       struct coati_error *err)
{
	struct coati_catalog_opts o;
	struct coati_catalog *cat;
	int r = SIZED_COPY(&o, opts);

	if (r < 0 || !ret)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "coati_catalog_open: options of unknown size or kind");
	if (o.glob && strlen(o.glob) > CATALOG_NAME_MAX)
		return coati_fail(err, -E2BIG, "a pattern has at most %d characters",
				  CATALOG_NAME_MAX);
	cat = coati_alloc(sizeof(*cat));
	if (!cat)
		return coati_fail(err, -ENOMEM, "out of memory");
	cat->pmu.fd = cat->first.fd = cat->events_fd = -1;
	cat->gaps.max = CATALOG_GAPS_MAX;
	cat->name = (struct strbuf)STRBUF_INIT(CATALOG_NAME_MAX);
	cat->text = (struct strbuf)STRBUF_INIT(PMU_EVENT_TEXT);
	coati_arena_init(&cat->arena, CATALOG_BYTES_MAX);
	coati_arena_init(&cat->folder, CATALOG_BYTES_MAX);
	coati_arena_init(&cat->item, CATALOG_BYTES_MAX);
	if (copy_opts(cat, &o) < 0) {
		coati_catalog_close(cat);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	*ret = cat;
	return 0;
}

int coati_catalog_next(struct coati_catalog *cat, struct coati_event_info *ret)
{
	if (!cat || !ret)
		return -EINVAL;
	if (cat->failed)
		return cat->failed;
	while (cat->source < sizeof(sources) / sizeof(sources[0])) {
		enum coati_event_kind kind = sources[cat->source].kind;
		struct coati_event_info info = { .kind = kind, .available = -1 };
		int r = 0;

		info.alias = info.description = info.unit = "";
		if (cat->kinds >> kind & 1)
			r = sources[cat->source].next(cat, &info);
		if (r > 0)
			*ret = info;
		else
			cat->failed = r;
		if (r != 0)
			return r;
		cat->source++;
		cat->i = cat->j = 0;
		cat->outer.len = cat->inner.len = 0;
		cat->started = false;
	}
	return 0;
}

const char *coati_catalog_gap(const struct coati_catalog *cat, uint32_t i)
{
	return cat && i < cat->gaps.len ? cat->gaps.v[i] : NULL;
}

void coati_catalog_close(struct coati_catalog *cat)
{
	if (!cat)
		return;
	coati_pmu_close(&cat->pmu);
	coati_pmu_close(&cat->first);
	fd_closep(&cat->events_fd);
	coati_arena_fini(&cat->arena);
	coati_arena_fini(&cat->folder);
	coati_arena_fini(&cat->item);
	coati_strbuf_fini(&cat->name);
	coati_strbuf_fini(&cat->text);
	ARRAY_FINI(&cat->gaps);
	coati_free(cat->glob);
	coati_free(cat->sysfs);
	coati_free(cat->tracefs);
	coati_free(cat);
}
