/* SPDX-License-Identifier: MIT */
/*
 * The catalog of PMU events: every name in events/ as "pmu/name/". Numbered PMUs of one kind are
 * listed once, without the number, because that is how they are typed. A PMU without named events
 * is "pmu//".
 */
#include <errno.h>
#include <string.h>

#include "event/catalog.h"

/* These have sources of their own, or nothing to choose from. */
static bool is_special(const char *name)
{
	static const char *const names[] = { "software", "tracepoint", "breakpoint", "kprobe",
					     "uprobe" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static bool same_stem(const char *a, const char *b)
{
	size_t stem = coati_pmu_stem(a);

	return coati_pmu_stem(b) == stem && memcmp(a, b, stem) == 0;
}

/* What one types: the name, or its stem when there are more of the kind. */
static size_t typed_len(const struct coati_catalog *cat, size_t i)
{
	const char *name = cat->outer.v[i];

	if ((i > 0 && same_stem(cat->outer.v[i - 1], name)) ||
	    (i + 1 < cat->outer.len && same_stem(cat->outer.v[i + 1], name)))
		return coati_pmu_stem(name);
	return strlen(name);
}

static int start(struct coati_catalog *cat)
{
	int r = coati_pmu_match(cat->sysfs, "*", &cat->arena, &cat->outer);

	if (r < 0)
		return r;
	cat->started = true;
	if (!cat->outer.len)
		return coati_catalog_add_gap(cat, "sysfs lists no PMUs: is it mounted, and has the "
						  "kernel CONFIG_PERF_EVENTS?");
	return 0;
}

/* Open PMU @i and read the names of its events. 0 when it is not to be listed. */
static int enter(struct coati_catalog *cat, size_t i)
{
	bool is_first = i == 0 || !same_stem(cat->outer.v[i - 1], cat->outer.v[i]);
	int r;

	coati_pmu_close(&cat->pmu);
	if (is_first)
		coati_pmu_close(&cat->first);
	if (is_special(cat->outer.v[i]) ||
	    coati_pmu_open(cat->sysfs, cat->outer.v[i], &cat->pmu) < 0)
		return 0;
	if (cat->first.fd < 0 && coati_pmu_open(cat->sysfs, cat->outer.v[i], &cat->first) < 0)
		return 0;
	cat->inner = (struct dir_names){ 0 };
	coati_arena_fini(&cat->folder);
	coati_arena_init(&cat->folder, CATALOG_BYTES_MAX);
	r = coati_pmu_event_names(&cat->pmu, &cat->folder, &cat->inner);
	if (r < 0)
		coati_pmu_close(&cat->pmu); /* the next call enters again */
	return r < 0 ? r : 1;
}

static int set_name(struct coati_catalog *cat, const char *event)
{
	coati_strbuf_clear(&cat->name);
	coati_strbuf_add(&cat->name, cat->outer.v[cat->i], typed_len(cat, cat->i));
	coati_strbuf_printf(&cat->name, "/%s/", event);
	return cat->name.failed;
}

/* The fields that can be given. */
static int describe_fields(struct coati_catalog *cat)
{
	struct dir_names names;
	int r = coati_pmu_field_names(&cat->pmu, &cat->folder, &names);

	coati_strbuf_clear(&cat->text);
	coati_strbuf_adds(&cat->text, "fields:");
	for (size_t i = 0; r == 0 && i < names.len && cat->text.len < PMU_EVENT_TEXT - 256; i++)
		coati_strbuf_printf(&cat->text, " %.128s", names.v[i]);
	if (r == 0 && !names.len)
		return 0;
	return r < 0 ? r : 1;
}

static int describe_event(struct coati_catalog *cat, const char *event,
			  struct coati_event_info *ret)
{
	struct pmu_event e;

	coati_strbuf_clear(&cat->text);
	/* listed anyway: opening it will say what is wrong */
	if (coati_pmu_event(&cat->pmu, event, &e) < 0)
		return 0;
	coati_strbuf_adds(&cat->text, e.terms);
	coati_arena_fini(&cat->item);
	coati_arena_init(&cat->item, CATALOG_BYTES_MAX);
	ret->unit = coati_arena_strdup(&cat->item, e.unit);
	return ret->unit ? cat->text.failed : -ENOMEM;
}

/* The next event of the PMU that is open: 1, 0 at its end. */
static int next_inside(struct coati_catalog *cat, struct coati_event_info *ret)
{
	bool is_first = strcmp(cat->pmu.name, cat->first.name) == 0;
	int r;

	if (!cat->inner.len && cat->j == 0 && is_first) {
		cat->j++;
		r = describe_fields(cat);
		if (r > 0)
			r = set_name(cat, "") < 0 ? -ENOMEM : 1;
		return r > 0 ? coati_catalog_match(cat, cat->name.text, "") : r;
	}
	while (cat->j < cat->inner.len) {
		const char *event = cat->inner.v[cat->j++];

		if (!is_first && coati_pmu_has_event(&cat->first, event))
			continue;
		r = set_name(cat, event);
		if (r < 0)
			return r == -E2BIG ? 0 : r;
		if (!coati_catalog_match(cat, cat->name.text, event))
			continue;
		r = describe_event(cat, event, ret);
		return r < 0 ? r : 1;
	}
	return 0;
}

int coati_catalog_next_pmu(struct coati_catalog *cat, struct coati_event_info *ret)
{
	int r = cat->started ? 0 : start(cat);

	if (r < 0)
		return r;
	for (; cat->i < cat->outer.len; cat->i++, cat->j = 0) {
		if (cat->pmu.fd < 0 || strcmp(cat->pmu.name, cat->outer.v[cat->i]) != 0) {
			r = enter(cat, cat->i);
			if (r < 0)
				return r;
			if (r == 0)
				continue;
		}
		r = next_inside(cat, ret);
		if (r < 0)
			return r;
		if (r > 0) {
			ret->name = cat->name.text;
			ret->description = cat->text.text;
			return 1;
		}
	}
	coati_pmu_close(&cat->pmu);
	return 0;
}
