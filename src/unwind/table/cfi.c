/* SPDX-License-Identifier: MIT */
/*
 * Bytes of .eh_frame or .debug_frame come in, entries go out. Everything is read through cursors;
 * every offset that an entry names is compared with the size of the section.
 */
#include "unwind/table/cfi.h"

#include <errno.h>

#define PE_OMIT	    0xff
#define PE_INDIRECT 0x80

static uint64_t read_value(struct cursor *c, uint8_t format)
{
	switch (format) {
	case 0x0: /* absptr */
	case 0x4: /* udata8 */
	case 0x8: /* signed */
	case 0xc: /* sdata8 */
		return cursor_u64(c);
	case 0x1:
		return cursor_uleb(c);
	case 0x2:
		return cursor_u16(c);
	case 0x3:
		return cursor_u32(c);
	case 0x9:
		return (uint64_t)cursor_sleb(c);
	case 0xa:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case 0xb:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(c);
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t coati_cfi_pointer(struct cursor *c, const struct cfi_section *s, uint8_t encoding)
{
	uint64_t at = s->vaddr + (uint64_t)(c->at - s->bytes);
	uint64_t v;

	if (encoding == PE_OMIT)
		return 0;
	if (encoding == 0x50) { /* aligned */
		cursor_skip(c, (size_t)(-at & 7));
		return cursor_u64(c);
	}
	v = read_value(c, encoding & 0x0f);
	switch (encoding & 0x70) {
	case 0x00:
		break;
	case 0x10:
		v += at;
		break;
	case 0x20:
		v += s->text;
		break;
	case 0x30:
		v += s->data;
		break;
	default: /* from the function itself: only language data has that */
		c->bad = true;
	}
	return v;
}

int coati_cfi_next(const struct cfi_section *s, size_t *at, struct cfi_entry *ret)
{
	size_t start = *at;
	struct cursor c = cursor_over(s->bytes + start, s->size - start);
	struct cfi_entry e = { .offset = start };
	bool is_wide = false;
	uint64_t length, id, id_at;

	if (cursor_left(&c) < 4) {
		*at = s->size;
		return 0;
	}
	length = cursor_u32(&c);
	if (!length) {
		*at += 4;
		e.is_end = true;
		*ret = e;
		return 1;
	}
	if (length == UINT32_MAX) {
		is_wide = true;
		length = cursor_u64(&c);
	}
	if (c.bad || length > cursor_left(&c) || length < (is_wide && s->is_debug ? 8 : 4)) {
		*at = s->size;
		return -EBADMSG;
	}
	e.end = (uint32_t)(s->size - cursor_left(&c) + length);
	id_at = s->size - cursor_left(&c);
	/* in .eh_frame the id keeps its four bytes whatever the length is */
	id = is_wide && s->is_debug ? cursor_u64(&c) : cursor_u32(&c);
	e.body = (uint32_t)(s->size - cursor_left(&c));
	if (s->is_debug) {
		e.is_cie = id == (is_wide ? UINT64_MAX : UINT32_MAX);
		e.cie = id;
	} else {
		e.is_cie = id == 0;
		e.cie = id_at - id; /* wraps when it lies: no CIE is found there */
	}
	*at = e.end;
	*ret = e;
	return 1;
}

/* The letters behind 'z' say what its data hold, in their order. */
static int read_augmentation(struct cursor *c, const struct cfi_section *s, const char *letters,
			     struct cfi_cie *cie)
{
	uint64_t size = cursor_uleb(c);
	struct cursor data;

	if (c->bad || size > cursor_left(c))
		return -EBADMSG;
	data = cursor_sub(c, (size_t)size);
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->encoding = cursor_u8(&data);
			break;
		case 'L':
			cursor_skip(&data, 1);
			break;
		case 'P':
			encoding = cursor_u8(&data);
			(void)coati_cfi_pointer(&data, s, encoding & 0x7f);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		/* return addresses are signed with the second key: stripped anyway */
		case 'B':
		case 'G': /* tagged stack */
			break;
		default:
			return 0; /* the size is known: what follows is not needed here */
		}
	}
	return data.bad ? -EBADMSG : 0;
}

/* What stands between the augmentation string and the instructions. */
static int read_cie_rest(struct cursor *c, const struct cfi_section *s, const char *letters,
			 uint8_t version, struct cfi_cie *cie)
{
	if (letters[0] == 'e' && letters[1] == 'h') {
		cursor_skip(c, 8); /* a pointer of the first compilers */
		letters += 2;
	}
	if (version == 4) {
		uint8_t address = cursor_u8(c);
		uint8_t segment = cursor_u8(c);

		if (address != 8 || segment)
			return -EOPNOTSUPP;
	}
	cie->code_align = cursor_uleb(c);
	cie->data_align = cursor_sleb(c);
	cie->ra = version == 1 ? cursor_u8(c) : (uint32_t)cursor_uleb(c);
	if (letters[0] == 'z') {
		cie->has_size = true;
		return read_augmentation(c, s, letters + 1, cie);
	}
	if (letters[0] == 'S' && !letters[1]) {
		cie->is_signal = true;
		return 0;
	}
	return letters[0] ? -EOPNOTSUPP : 0;
}

int coati_cfi_cie(const struct cfi_section *s, const struct cfi_entry *e, struct cfi_cie *ret)
{
	struct cursor c = cursor_over(s->bytes + e->body, e->end - e->body);
	struct cfi_cie cie = { .offset = e->offset, .program_end = e->end };
	uint8_t version = cursor_u8(&c);
	const char *letters = (const char *)c.at;
	const uint8_t *zero = c.bad ? NULL : memchr(c.at, 0, cursor_left(&c));
	int r;

	if (!zero)
		return -EBADMSG;
	if (version != 1 && version != 3 && version != 4)
		return -EOPNOTSUPP;
	c.at = zero + 1;
	r = read_cie_rest(&c, s, letters, version, &cie);
	if (r < 0)
		return r;
	if (c.bad || cie.encoding & PE_INDIRECT || cie.encoding == PE_OMIT)
		return -EBADMSG;
	cie.program = (uint32_t)(c.at - s->bytes);
	*ret = cie;
	return 0;
}

int coati_cfi_cie_at(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret)
{
	size_t at = (size_t)offset;
	struct cfi_entry e;

	if (offset >= s->size || coati_cfi_next(s, &at, &e) <= 0 || !e.is_cie)
		return -EBADMSG;
	return coati_cfi_cie(s, &e, ret);
}

int coati_cfi_fde(const struct cfi_section *s, const struct cfi_entry *e, const struct cfi_cie *cie,
		  struct cfi_fde *ret)
{
	struct cursor c = cursor_over(s->bytes + e->body, e->end - e->body);
	struct cfi_fde f = { .program_end = e->end };
	uint64_t end;

	f.start = coati_cfi_pointer(&c, s, cie->encoding);
	f.length = cie->encoding == 0x50 ? cursor_u64(&c) : read_value(&c, cie->encoding & 0x0f);
	if (cie->has_size) {
		uint64_t size = cursor_uleb(&c);

		if (size > cursor_left(&c))
			return -EBADMSG;
		cursor_skip(&c, (size_t)size);
	}
	if (c.bad || __builtin_add_overflow(f.start, f.length, &end))
		return -EBADMSG;
	f.program = (uint32_t)(c.at - s->bytes);
	*ret = f;
	return 0;
}
