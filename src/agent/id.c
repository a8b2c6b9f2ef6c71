/* SPDX-License-Identifier: MIT */
/*
 * Ids of contents: 128 bits of a hash without a seed, over bytes in one order, so that all agents
 * and servers have the same id for the same stack. See window.h. What is hashed and how are version
 * AGENT_ID_VERSION: tests hold known ids against it.
 */
#include <string.h>

#include "agent/window.h"

/* Two lanes; each word goes through both with other multipliers, and they mix at the end. */
struct lanes {
	uint64_t a, b, length;
};

static uint64_t fold(uint64_t x, uint64_t y)
{
	unsigned __int128 product = (unsigned __int128)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static void add_word(struct lanes *l, uint64_t word)
{
	l->a = fold(l->a ^ word, UINT64_C(0x9e3779b97f4a7c15)) + l->b;
	l->b = fold((l->b + word) ^ UINT64_C(0xd6e8feb86659fd93), UINT64_C(0xa0761d6478bd642f)) ^
	       (l->a << 23 | l->a >> 41);
	l->length++;
}

/* Little-endian words, whatever this machine has; the length goes first. */
static void add_bytes(struct lanes *l, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	add_word(l, size);
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		for (size_t k = 0; k < 8 && i + k < size; k++)
			word |= (uint64_t)p[i + k] << (8 * k);
		add_word(l, word);
	}
}

static void add_text(struct lanes *l, const char *text)
{
	add_bytes(l, text, strlen(text));
}

static struct agent_id finish(struct lanes *l)
{
	struct agent_id id;

	for (unsigned int i = 0; i < 4; i++)
		add_word(l, l->length + i);
	id.high = fold(l->a ^ UINT64_C(0x8ebc6af09c88c6e3), l->b | 1);
	id.low = fold(l->b ^ UINT64_C(0x589965cc75374cc3), l->a | 1) + l->a;
	/* 0, 0 means that there is nothing */
	id.low += !id.high && !id.low;
	return id;
}

static struct lanes start(uint64_t kind)
{
	struct lanes l = { UINT64_C(0x243f6a8885a308d3), UINT64_C(0x13198a2e03707344), 0 };

	add_word(&l, kind << 32 | AGENT_ID_VERSION);
	return l;
}

static void add_frame(struct lanes *l, const struct agent_frame *f)
{
	add_text(l, f->function);
	add_text(l, f->image);
	add_text(l, f->path);
	add_text(l, f->file);
	add_word(l, (uint64_t)f->line << 32 | f->flags);
	add_bytes(l, f->build_id, f->build_id_size);
	add_word(l, f->address);
	add_word(l, f->kind);
}

struct agent_id coati_agent_stack_id(const struct agent_stack *s, const struct agent_frame *frames)
{
	struct lanes l = start(1);

	add_word(&l, (uint64_t)s->flags << 32 | s->nr);
	for (uint32_t i = 0; i < s->nr; i++)
		add_frame(&l, &frames[s->frames[i]]);
	return finish(&l);
}

struct agent_id coati_agent_labels_id(const struct coati_label *v, uint32_t nr)
{
	struct lanes l = start(2);

	if (!nr)
		return (struct agent_id){ 0 };
	for (uint32_t i = 0; i < nr; i++) {
		add_text(&l, v[i].key);
		add_text(&l, v[i].value);
	}
	return finish(&l);
}
