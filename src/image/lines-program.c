/* SPDX-License-Identifier: MIT */
/* The state machine. Sequences of code that the linker dropped are run without being looked at. */
#include "image/lines-program.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "image/lines-dwarf.h"

struct machine {
	struct line_program *p;
	const uint64_t *vaddrs;
	size_t nr;
	struct line_row *rows;
	/* registers */
	uint64_t address, file, line, column;
	/* the row that the next one ends, and the first address that is not below it */
	bool has_last, is_dropped;
	uint64_t last_address;
	struct line_row last;
	size_t next;
};

static void reset(struct machine *m)
{
	m->address = 0;
	m->file = 1;
	m->line = 1;
	m->column = 0;
	m->has_last = false;
}

/* A row: everything between the last one and this one belongs to the last one.  Hot. */
static inline void emit(struct machine *m)
{
	const struct dwarf_file *f = m->p->scope->address_file;

	if (!m->has_last || m->address < m->last_address) {
		m->next = first_at_or_above(m->vaddrs, m->nr, m->address);
		m->has_last = true;
		m->is_dropped = m->address < f->text_start || m->address >= f->text_end;
	}
	for (; m->next < m->nr && m->vaddrs[m->next] < m->address; m->next++)
		if (!m->is_dropped && !m->rows[m->next].is_set)
			m->rows[m->next] = m->last;
	m->last_address = m->address;
	m->last = (struct line_row){ (uint32_t)m->file, (uint32_t)m->line, (uint32_t)m->column,
				     true };
}

static inline void advance(struct machine *m, uint64_t by)
{
	m->address += by * m->p->min_length;
}

/* One more file, by an opcode that is older than most programs. */
static int define_file(struct line_program *p, struct cursor *c)
{
	const char *name = (const char *)c->at;
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));
	struct line_file *more;

	if (!end || p->nr_files == LINE_FILES_MAX)
		return -EBADMSG;
	c->at = end + 1;
	if (p->nr_files == p->cap_files) {
		more = coati_realloc_array(p->files, 2 * p->cap_files + 16, sizeof(*more));
		if (!more)
			return -ENOMEM;
		p->files = more;
		p->cap_files = 2 * p->cap_files + 16;
	}
	p->files[p->nr_files++] = (struct line_file){ .name = name, .dir = cursor_uleb(c) };
	return 0;
}

static int run_extended(struct machine *m, struct cursor *c)
{
	uint64_t size = cursor_uleb(c);
	struct cursor body = cursor_sub(c, size);
	uint8_t op;

	if (c->bad || !size)
		return -EBADMSG;
	op = cursor_u8(&body);
	if (op == DW_LNE_end_sequence) {
		emit(m);
		reset(m);
	} else if (op == DW_LNE_set_address) {
		m->address = cursor_sized(&body, (unsigned int)(size - 1));
	} else if (op == DW_LNE_define_file) {
		return define_file(m->p, &body);
	}
	return body.bad ? -EBADMSG : 0;
}

static int run_standard(struct machine *m, uint8_t op, struct cursor *c)
{
	const struct line_program *p = m->p;

	switch (op) {
	case DW_LNS_copy:
		emit(m);
		return 0;
	case DW_LNS_advance_pc:
		advance(m, cursor_uleb(c));
		return 0;
	case DW_LNS_advance_line:
		m->line += (uint64_t)cursor_sleb(c);
		return 0;
	case DW_LNS_set_file:
		m->file = cursor_uleb(c);
		return 0;
	case DW_LNS_set_column:
		m->column = cursor_uleb(c);
		return 0;
	case DW_LNS_const_add_pc:
		if (!p->line_range)
			return -EBADMSG;
		advance(m, (255u - p->opcode_base) / p->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		m->address += cursor_u16(c);
		return 0;
	default: /* of no weight here, or not known: its operands are numbers */
		for (unsigned int i = 0; i < p->opcode_lengths[op - 1]; i++)
			cursor_skip_leb(c);
		return 0;
	}
}

int coati_line_program_run(struct line_program *p, const uint64_t *vaddrs, size_t nr,
			   uint64_t *work, struct line_row *rows)
{
	struct machine m = { .p = p, .vaddrs = vaddrs, .nr = nr, .rows = rows };
	struct cursor c = p->code;
	uint64_t cost = cursor_left(&c);
	int r = 0;

	if (cost > *work) {
		*work = 0;
		return -EBADMSG;
	}
	*work -= cost;
	reset(&m);
	while (r == 0 && cursor_left(&c)) {
		uint8_t op = cursor_u8(&c);

		if (op >= p->opcode_base) {
			op = (uint8_t)(op - p->opcode_base);
			if (!p->line_range)
				return -EBADMSG;
			advance(&m, op / p->line_range);
			m.line += (uint64_t)(int64_t)(p->line_base + op % p->line_range);
			emit(&m);
		} else if (op == 0) {
			r = run_extended(&m, &c);
		} else {
			r = run_standard(&m, op, &c);
		}
		if (c.bad)
			r = -EBADMSG;
	}
	return r;
}
