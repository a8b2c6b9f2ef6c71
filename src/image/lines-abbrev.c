/* SPDX-License-Identifier: MIT */
/*
 * .debug_abbrev comes in, tables go out; the last ones used are kept, because names of inlined
 * functions lead from unit to unit. A table that breaks off, or grows over a ceiling, is refused
 * whole.
 */
#include "image/lines-abbrev.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "image/lines-dwarf.h"

#define TABLE_ATTRS_MAX (2u << 20)

/* What grows while a table is read. */
struct build {
	struct abbrev_table *t;
	size_t cap, cap_attrs, cap_steps;
};

static struct abbrev_step bytes_step(unsigned int bytes)
{
	return (struct abbrev_step){ STEP_BYTES, (uint16_t)bytes };
}

struct abbrev_step coati_form_step(const struct abbrev_key *key, uint64_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return bytes_step(0);
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return bytes_step(1);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return bytes_step(2);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return bytes_step(3);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return bytes_step(4);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return bytes_step(8);
	case DW_FORM_data16:
		return bytes_step(16);
	case DW_FORM_addr:
		return bytes_step(key->address_size);
	case DW_FORM_ref_addr:
		return bytes_step(key->is_version2 ? key->address_size : key->offset_size);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return bytes_step(key->offset_size);
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return (struct abbrev_step){ STEP_LEB, 0 };
	case DW_FORM_string:
		return (struct abbrev_step){ STEP_STRING, 0 };
	case DW_FORM_block1:
		return (struct abbrev_step){ STEP_BLOCK1, 0 };
	case DW_FORM_block2:
		return (struct abbrev_step){ STEP_BLOCK2, 0 };
	case DW_FORM_block4:
		return (struct abbrev_step){ STEP_BLOCK4, 0 };
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return (struct abbrev_step){ STEP_BLOCK, 0 };
	case DW_FORM_indirect:
		return (struct abbrev_step){ STEP_INDIRECT, 0 };
	default:
		return (struct abbrev_step){ STEP_UNKNOWN, 0 };
	}
}

static void skip_string(struct cursor *c)
{
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));

	if (end)
		c->at = end + 1;
	else
		c->bad = true;
}

void coati_step_take(const struct abbrev_key *key, struct abbrev_step step, struct cursor *c)
{
	switch (step.kind) {
	case STEP_BYTES:
		cursor_skip(c, step.bytes);
		return;
	case STEP_LEB:
		cursor_skip_leb(c);
		return;
	case STEP_STRING:
		skip_string(c);
		return;
	case STEP_BLOCK1:
		cursor_skip(c, cursor_u8(c));
		return;
	case STEP_BLOCK2:
		cursor_skip(c, cursor_u16(c));
		return;
	case STEP_BLOCK4:
		cursor_skip(c, cursor_u32(c));
		return;
	case STEP_BLOCK:
		cursor_skip(c, cursor_uleb(c));
		return;
	case STEP_INDIRECT:
		step = coati_form_step(key, cursor_uleb(c));
		if (step.kind != STEP_INDIRECT && step.kind != STEP_UNKNOWN)
			coati_step_take(key, step, c);
		else
			c->bad = true;
		return;
	default:
		c->bad = true;
	}
}

/* Room for one more in a growing list; false: out of memory. */
static bool make_room(void *list, size_t *cap, size_t len, size_t size)
{
	void **p = list;
	void *more;

	if (len < *cap)
		return true;
	more = coati_realloc_array(*p, *cap ? 2 * *cap : 256, size);
	if (!more)
		return false;
	*p = more;
	*cap = *cap ? 2 * *cap : 256;
	return true;
}

static bool add_step(struct build *b, struct abbrev *a, struct abbrev_step step)
{
	struct abbrev_table *t = b->t;
	struct abbrev_step *last = a->nr_steps ? &t->steps[t->nr_steps - 1] : NULL;

	if (step.kind == STEP_BYTES && last && last->kind == STEP_BYTES) {
		last->bytes = (uint16_t)(last->bytes + step.bytes); /* 256 values of 16 bytes fit */
		return true;
	}
	if (!make_room(&t->steps, &b->cap_steps, t->nr_steps, sizeof(*t->steps)))
		return false;
	t->steps[t->nr_steps++] = step;
	a->nr_steps++;
	return true;
}

/* The attributes of one abbreviation, to the pair of zeros. */
static int read_attrs(struct build *b, struct abbrev *a, struct cursor *c)
{
	struct abbrev_table *t = b->t;
	bool has_pc = false;

	a->attrs = (uint32_t)t->nr_attrs;
	a->steps = (uint32_t)t->nr_steps;
	for (;;) {
		uint64_t name = cursor_uleb(c);
		uint64_t form = cursor_uleb(c);
		int64_t implicit = form == DW_FORM_implicit_const ? cursor_sleb(c) : 0;

		if (c->bad)
			return -EBADMSG;
		if (!name && !form)
			break;
		if (a->nr_attrs == ABBREV_ATTRS_MAX || t->nr_attrs == TABLE_ATTRS_MAX)
			return -EBADMSG;
		if (!make_room(&t->attrs, &b->cap_attrs, t->nr_attrs, sizeof(*t->attrs)) ||
		    !add_step(b, a, coati_form_step(&t->key, form)))
			return -ENOMEM;
		t->attrs[t->nr_attrs++] =
			(struct abbrev_attr){ name > UINT16_MAX ? 0 : (uint16_t)name,
					      form > UINT16_MAX ? 0 : (uint16_t)form, implicit };
		a->nr_attrs++;
		has_pc |= name == DW_AT_low_pc || name == DW_AT_ranges;
	}
	a->has_code =
		has_pc && (a->tag == DW_TAG_subprogram || a->tag == DW_TAG_inlined_subroutine);
	return 0;
}

static int read_abbrev(struct build *b, uint64_t code, struct cursor *c)
{
	struct abbrev_table *t = b->t;
	struct abbrev a = { .code = code };
	uint64_t tag = cursor_uleb(c);
	int r;

	a.tag = tag > UINT16_MAX ? UINT16_MAX : (uint16_t)tag;
	a.has_children = cursor_u8(c) != 0;
	r = read_attrs(b, &a, c);
	if (r < 0)
		return r;
	if (t->nr == ABBREVS_MAX)
		return -EBADMSG;
	if (!make_room(&t->v, &b->cap, t->nr, sizeof(*t->v)))
		return -ENOMEM;
	t->v[t->nr++] = a;
	if (code == t->nr)
		return 0;
	r = coati_map_put(&t->by_code, code, t->nr - 1);
	return r < 0 ? r : 0;
}

static void table_free(struct abbrev_table *t)
{
	if (!t)
		return;
	coati_free(t->v);
	coati_free(t->attrs);
	coati_free(t->steps);
	coati_map_fini(&t->by_code);
	coati_free(t);
}

static int table_new(const struct abbrev_key *key, struct cursor *c, struct abbrev_table **ret)
{
	struct build b = { .t = coati_alloc(sizeof(struct abbrev_table)) };
	uint64_t code;
	int r = 0;

	if (!b.t)
		return -ENOMEM;
	b.t->key = *key;
	coati_map_init(&b.t->by_code, ABBREVS_MAX);
	while (r == 0 && (code = cursor_uleb(c)) != 0)
		r = read_abbrev(&b, code, c);
	if (r == 0 && c->bad)
		r = -EBADMSG;
	if (r < 0) {
		table_free(b.t);
		return r;
	}
	*ret = b.t;
	return 0;
}

int coati_abbrevs_get(struct abbrev_cache *cache, const struct abbrev_key *key, struct cursor bytes,
		      const struct abbrev_table **ret)
{
	struct abbrev_table **slot = &cache->slots[coati_hash_u64(key->offset, 0) % ABBREV_SLOTS];
	const struct abbrev_key *have = *slot ? &(*slot)->key : NULL;
	struct abbrev_table *made;
	int r;

	if (!have || have->offset != key->offset || have->address_size != key->address_size ||
	    have->offset_size != key->offset_size || have->is_version2 != key->is_version2) {
		r = cache->built > ABBREV_BUILT_MAX ? -EBADMSG : table_new(key, &bytes, &made);
		if (r < 0)
			return r;
		cache->built += made->nr_attrs + 1;
		table_free(*slot);
		*slot = made;
	}
	*ret = *slot;
	return 0;
}

void coati_abbrevs_fini(struct abbrev_cache *cache)
{
	for (unsigned int i = 0; i < ABBREV_SLOTS; i++) {
		table_free(cache->slots[i]);
		cache->slots[i] = NULL;
	}
}
