/* SPDX-License-Identifier: MIT */
/*
 * An address, a length and letters come in; the attributes of a breakpoint go out, or the sentence
 * that says what the hardware cannot do. The kernel would answer most of these mistakes with the
 * same EINVAL, and one of them (arm64: bytes that reach past eight aligned ones) by watching less
 * than was asked for.
 */
#include "event/breakpoint.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

#define DATA_LENGTH_DEFAULT 4
#define WORD_BYTES	    8 /* what one debug register can watch */

const struct breakpoint_rules coati_breakpoint_x86 = { .code_align = 1 };
const struct breakpoint_rules coati_breakpoint_arm64 = {
	.reads = true, .parts = true, .code_align = 4, .code_length = 4
};

#if defined(__aarch64__)
#define RULES coati_breakpoint_arm64
#else
#define RULES coati_breakpoint_x86
#endif

static int parse_access(const char *access, uint32_t *ret, struct coati_error *err)
{
	static const char letters[] = "rwx";
	static const uint32_t bits[] = { COATI_BP_R, COATI_BP_W, COATI_BP_X };
	uint32_t type = 0;

	for (const char *p = access; *p; p++) {
		const char *found = strchr(letters, *p);

		if (!found)
			return coati_fail(
				err, -EINVAL,
				"breakpoint access is one of r, w, rw or x, not \"%.16s\"", access);
		if (type & bits[found - letters])
			return coati_fail(err, -EINVAL, "breakpoint access has %c twice", *p);
		type |= bits[found - letters];
	}
	if ((type & COATI_BP_X) && type != COATI_BP_X)
		return coati_fail(err, -EINVAL,
				  "a breakpoint watches execution (x) or data (r, w), not both");
	*ret = type ? type : COATI_BP_RW;
	return 0;
}

static int check_code(const struct breakpoint_rules *rules, uint64_t addr, uint64_t length,
		      struct coati_error *err)
{
	if (length != sizeof(long) && (!rules->code_length || length != rules->code_length))
		return coati_fail(
			err, -EINVAL,
			"a breakpoint on execution has no length of its own: leave out /%llu",
			(unsigned long long)length);
	if (addr & (rules->code_align - 1))
		return coati_fail(
			err, -EINVAL,
			"0x%llx is not the address of an instruction: it must be a multiple of %u",
			(unsigned long long)addr, rules->code_align);
	return 0;
}

static int check_data(const struct breakpoint_rules *rules, uint64_t addr, uint64_t length,
		      struct coati_error *err)
{
	unsigned long long a = addr, l = length;

	if (!length || length > WORD_BYTES)
		return coati_fail(err, -EINVAL,
				  "a breakpoint watches at most %d bytes, not %llu: use several",
				  WORD_BYTES, l);
	if (rules->parts && (addr & (WORD_BYTES - 1)) + length > WORD_BYTES)
		return coati_fail(
			err, -EINVAL,
			"the %llu bytes at 0x%llx cross a multiple of %d: use two breakpoints", l,
			a, WORD_BYTES);
	if (rules->parts)
		return 0;
	if (length & (length - 1))
		return coati_fail(err, -EINVAL,
				  "the length of a breakpoint is 1, 2, 4 or 8 bytes, not %llu", l);
	if (addr & (length - 1))
		return coati_fail(
			err, -EINVAL,
			"the address of a breakpoint of %llu bytes must be a multiple of %llu; "
			"0x%llx is not",
			l, l, a);
	return 0;
}

int coati_breakpoint_check(const struct breakpoint_rules *rules, struct coati_attr *attr,
			   bool *ret_read_write, struct coati_error *err)
{
	bool code = attr->bp_type == COATI_BP_X;
	uint64_t addr = attr->config1, length = attr->config2;
	int r = code ? check_code(rules, addr, length, err) : check_data(rules, addr, length, err);

	if (r < 0)
		return r;
	*ret_read_write = attr->bp_type == COATI_BP_R && !rules->reads;
	if (*ret_read_write)
		attr->bp_type = COATI_BP_RW;
	return 0;
}

int coati_breakpoint_attr(const struct breakpoint *bp, struct coati_attr *attr,
			  const char **ret_note, struct coati_error *err)
{
	struct coati_attr a = *attr;
	bool read_write;
	int r = parse_access(bp->access, &a.bp_type, err);

	if (r < 0)
		return r;
	a.type = COATI_TYPE_BREAKPOINT;
	a.config1 = bp->addr;
	a.config2 = bp->length		      ? bp->length
		    : a.bp_type == COATI_BP_X ? sizeof(long)
					      : DATA_LENGTH_DEFAULT;
	r = coati_breakpoint_check(&RULES, &a, &read_write, err);
	if (r < 0)
		return r;
	*attr = a;
	if (ret_note)
		*ret_note = read_write ? "this CPU cannot watch reads alone: writes are counted too"
				       : NULL;
	return 0;
}
