/* SPDX-License-Identifier: MIT */
/* One line per reason, not per event. */
#include "cli/stat/announce.h"

#include "base/strbuf.h"
#include "cli/talk.h"
#include "event/event.h"

static void add_name(struct strbuf *s, const char *name)
{
	coati_strbuf_printf(s, "%s%s", s->len ? ", " : "", name);
}

/* Events of the default set that are left out here: for want of a PMU, or of the right to count the
 * kernel. */
static void tell_hidden(const struct stat_meter *m)
{
	struct strbuf hardware = STRBUF_INIT(4096), kernel = STRBUF_INIT(4096);

	for (uint32_t i = 0; i < m->nr_events; i++) {
		const struct stat_event *e = &m->events[i];

		if (e->hidden)
			add_name(e->desc->kind == COATI_EVENT_HARDWARE ? &hardware : &kernel,
				 e->desc->name);
	}
	if (hardware.len)
		coati_note("no hardware counters here: %s are left out (see coati doctor)",
			   hardware.text);
	if (kernel.len)
		coati_note("you may not count events in the kernel: %s are left out", kernel.text);
	coati_strbuf_fini(&hardware);
	coati_strbuf_fini(&kernel);
}

/* Events that count less than was asked for. */
static void tell_dropped(const struct stat_meter *m)
{
	struct strbuf names = STRBUF_INIT(4096);
	char dropped[256];

	for (uint32_t i = 0; i < m->nr_events; i++) {
		const struct stat_event *e = &m->events[i];
		uint32_t rest = e->dropped & ~COATI_DROP_KERNEL;

		if (e->dropped & COATI_DROP_KERNEL && !e->error)
			add_name(&names, e->desc->name);
		if (rest && (m->args->verbose || rest & COATI_DROP_GROUP))
			coati_note("%s: left out: %s", e->desc->name,
				   coati_dropped_format(rest, dropped, sizeof(dropped)));
	}
	if (names.len)
		coati_note("user space only: %s; the kernel's part needs sudo sysctl "
			   "kernel.perf_event_paranoid=1",
			   names.text);
	coati_strbuf_fini(&names);
}

void coati_stat_announce(const struct stat_meter *m)
{
	tell_hidden(m);
	for (uint32_t i = 0; i < m->nr_events; i++) {
		const struct stat_event *e = &m->events[i];

		if (e->error && !e->hidden)
			coati_say("%s", e->error);
	}
	tell_dropped(m);
}
