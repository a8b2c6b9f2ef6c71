/* SPDX-License-Identifier: MIT */
/*
 * The catalog of tracepoints. There are thousands: a name costs its share of a directory read and
 * nothing more, unless the fields are wanted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/match.h"
#include "event/catalog.h"
#include "event/tracefs.h"

/* Everything of this kind is missing, for the reason in @err. */
static int give_up(struct coati_catalog *cat, const struct coati_error *err)
{
	cat->started = true;
	return coati_catalog_add_gap(cat, err->text);
}

static int start(struct coati_catalog *cat)
{
	struct coati_error err;
	int r;

	r = coati_tracefs_find(cat->tracefs, cat->tracefs_path, sizeof(cat->tracefs_path), &err);
	if (r < 0)
		return give_up(cat, &err);
	r = coati_tracefs_systems(cat->tracefs_path, &cat->arena, &cat->outer);
	if (r < 0 && r != -ENOMEM) {
		coati_tracefs_refused(cat->tracefs_path, &err);
		return give_up(cat, &err);
	}
	if (r < 0)
		return r;
	coati_strbuf_clear(&cat->text);
	coati_strbuf_printf(&cat->text, "%s/events", cat->tracefs_path);
	if (cat->text.failed) {
		cat->outer.len = 0;
		return cat->text.failed;
	}
	fd_closep(&cat->events_fd);
	cat->events_fd = open(cat->text.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cat->started = true;
	return 0;
}

/* Can a pattern with a colon match anything of this system? */
static bool wants_system(const struct coati_catalog *cat, const char *system)
{
	char pattern[CATALOG_NAME_MAX + 1];
	const char *colon = cat->glob_is_pattern ? strchr(cat->glob, ':') : NULL;

	if (!colon || memchr(cat->glob, '[', (size_t)(colon - cat->glob)))
		return true;
	memcpy(pattern, cat->glob, (size_t)(colon - cat->glob));
	pattern[colon - cat->glob] = '\0';
	return coati_glob_match(pattern, system);
}

static int enter(struct coati_catalog *cat)
{
	const char *system = cat->outer.v[cat->i];
	int r;

	cat->inner.len = 0;
	if (!wants_system(cat, system))
		return 0;
	coati_arena_fini(&cat->folder);
	coati_arena_init(&cat->folder, CATALOG_BYTES_MAX);
	r = coati_dir_names(cat->events_fd, system, DIR_FOLDERS, &cat->folder, &cat->inner);
	/* a system may vanish with its module while we walk */
	return r == -ENOMEM ? r : 0;
}

static int read_fields(struct coati_catalog *cat, const char *system, const char *name,
		       struct coati_event_info *ret)
{
	struct coati_tp_format f;
	struct coati_event_field *fields;
	uint32_t nr;
	int r;

	coati_arena_fini(&cat->item);
	coati_arena_init(&cat->item, CATALOG_BYTES_MAX);
	r = coati_tracefs_read_format(cat->tracefs_path, system, name, &cat->item, &f);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	nr = f.nr_fields - f.nr_common;
	fields = coati_arena_alloc(&cat->item, nr * sizeof(*fields));
	if (!fields)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_tp_field *from = &f.fields[f.nr_common + i];

		fields[i] = (struct coati_event_field){ .name = from->name,
							.type = from->type,
							.offset = from->offset,
							.size = from->size,
							.is_signed = from->is_signed };
	}
	ret->fields = fields;
	ret->nr_fields = nr;
	return 0;
}

/* The tracer's own records are listed beside the tracepoints, but most have no id: nothing can be
 * opened. */
static bool can_open(const struct coati_catalog *cat, const char *system, const char *name)
{
	char path[CATALOG_NAME_MAX];

	if (strcmp(system, "ftrace") != 0)
		return true;
	return (size_t)snprintf(path, sizeof(path), "%s/%s/id", system, name) < sizeof(path) &&
	       faccessat(cat->events_fd, path, F_OK, 0) == 0;
}

/* The next one of the system that is entered: 1, 0 at its end. */
static int next_inside(struct coati_catalog *cat, struct coati_event_info *ret)
{
	const char *system = cat->outer.v[cat->i];

	while (cat->j < cat->inner.len) {
		const char *name = cat->inner.v[cat->j++];
		int r = 0;

		coati_strbuf_clear(&cat->name);
		coati_strbuf_adds(&cat->name, system);
		coati_strbuf_addc(&cat->name, ':');
		coati_strbuf_adds(&cat->name, name);
		if (cat->name.failed)
			return cat->name.failed;
		if (!coati_catalog_match(cat, cat->name.text, system) ||
		    !can_open(cat, system, name))
			continue;
		if (cat->want_fields)
			r = read_fields(cat, system, name, ret);
		return r < 0 ? r : 1;
	}
	return 0;
}

int coati_catalog_next_tracepoint(struct coati_catalog *cat, struct coati_event_info *ret)
{
	bool entered = cat->started;
	int r = cat->started ? 0 : start(cat);

	for (; r == 0 && cat->i < cat->outer.len; cat->i++, cat->j = 0) {
		if (!entered)
			r = enter(cat);
		entered = false;
		if (r == 0)
			r = next_inside(cat, ret);
		if (r != 0) {
			ret->name = cat->name.text;
			return r;
		}
	}
	return r;
}
