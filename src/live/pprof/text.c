/* SPDX-License-Identifier: MIT */
/* Stacks as text: addresses, and names for people. */
#include "live/pprof/text.h"

#include <inttypes.h>
#include <string.h>

void coati_text_addresses(const struct text_stack *stack, struct strbuf *ret)
{
	coati_strbuf_adds(ret, " @");
	for (uint32_t i = 0; i < stack->nr_frames; i++)
		coati_strbuf_printf(ret, " 0x%" PRIx64, stack->frames[i]);
}

/* Text in quotes, as JSON has it. */
static void put_quoted(const char *text, size_t size, struct strbuf *ret)
{
	coati_strbuf_addc(ret, '"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == 0x7f)
			coati_strbuf_printf(ret, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			coati_strbuf_printf(ret, "\\%c", c);
		else
			coati_strbuf_addc(ret, (char)c);
	}
	coati_strbuf_addc(ret, '"');
}

static void put_labels(const struct coati_labels *labels, struct strbuf *ret)
{
	struct coati_label_item item;
	const char *between = "{";
	uint32_t pos = 0;

	while (coati_labels_next(labels, &pos, &item) == 1) {
		coati_strbuf_adds(ret, between);
		put_quoted(item.key, strlen(item.key), ret);
		coati_strbuf_adds(ret, ": ");
		put_quoted(item.value, item.size, ret);
		between = ", ";
	}
	coati_strbuf_adds(ret, "}\n");
}

static void put_frame(struct live_maps *maps, uint64_t shown, uint64_t addr, struct strbuf *ret)
{
	struct live_mapping *m = coati_maps_find(maps, addr);
	uint64_t into;
	const char *name = m ? coati_maps_name(maps, m, addr, &into) : NULL;

	coati_strbuf_printf(ret, "0x%" PRIx64 "\t", shown);
	if (name)
		coati_strbuf_printf(ret, "%s+0x%" PRIx64, name, into + (shown - addr));
	else
		coati_strbuf_adds(ret, "?");
	coati_strbuf_addc(ret, '\t');
	if (m)
		coati_strbuf_clean(ret, m->path, strlen(m->path));
	coati_strbuf_addc(ret, '\n');
}

void coati_text_frames(struct live_maps *maps, const struct text_stack *stack, const char *before,
		       struct strbuf *ret)
{
	if (stack->labels && stack->labels->size) {
		coati_strbuf_printf(ret, "%slabels: ", before);
		put_labels(stack->labels, ret);
	}
	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		/* callers: the call, not what is behind it */
		uint64_t addr = stack->frames[i] - (i > 0 || stack->leaf_is_call);

		/* it was no frame pointer that led here */
		if (i > 0 && !coati_maps_find(maps, addr))
			break;
		coati_strbuf_adds(ret, before);
		put_frame(maps, stack->frames[i], addr, ret);
	}
}

void coati_text_mappings(const struct live_maps *maps, struct strbuf *ret)
{
	coati_strbuf_adds(ret, "\nMAPPED_LIBRARIES:\n");
	for (uint32_t i = 0; i < maps->len; i++) {
		const struct live_mapping *m = &maps->list[i];

		coati_strbuf_printf(ret, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 0 ",
				    m->start, m->end, m->offset);
		coati_strbuf_clean(ret, m->path, strlen(m->path));
		coati_strbuf_addc(ret, '\n');
	}
}
