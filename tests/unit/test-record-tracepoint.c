/* SPDX-License-Identifier: MIT */
/* Payloads of tracepoints: fields by name, and the lines that print formats make of them. */
#include <stdio.h>
#include <stdlib.h>

#include <coati/record.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "lib/record-builder.h"
#include "lib/test.h"
#include "record/tracepoint.h"

/* A made-up tracepoint with one field of every kind; what it prints comes with the test. */
static const char head[] =
	"name: demo\n"
	"ID: 321\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:s8 tiny;\toffset:16;\tsize:1;\tsigned:1;\n"
	"\tfield:u16 half;\toffset:18;\tsize:2;\tsigned:0;\n"
	"\tfield:int word;\toffset:20;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long flags;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:void * ip;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:u16 list[4];\toffset:40;\tsize:8;\tsigned:0;\n"
	"\tfield:__u8 addr[4];\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:52;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] tail;\toffset:56;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u64[] nums;\toffset:60;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc cpumask_t mask;\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 v6[16];\toffset:68;\tsize:16;\tsigned:0;\n"
	"\n";

static struct coati_tracepoint *parse(const char *print_fmt)
{
	struct strbuf s = STRBUF_INIT(65536);
	struct coati_tracepoint *tp = NULL;
	struct coati_error err = { 0 };

	coati_strbuf_printf(&s, "%sprint fmt: %s\n", head, print_fmt);
	CHECK(!s.failed);
	if (coati_tracepoint_parse(s.text, s.len, &tp, &err))
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	coati_strbuf_fini(&s);
	return tp;
}

/* Its payload, in a byte order of choice. */
static struct coati_payload payload(struct builder *b, bool big)
{
	static const uint8_t v6[16] = { 0x20, 1, 0xd, 0xb8, [10] = 0xa, [15] = 1 };

	b->len = 0;
	b->big = big;
	builder_u16(b, 321);
	builder_u16(b, 0);
	builder_u32(b, 77);
	builder_bytes(b, "coati\0xx", 8);
	builder_u8(b, (uint8_t)-5);
	builder_u8(b, 0);
	builder_u16(b, 0xfffe);
	builder_u32(b, (uint32_t)-1000);
	builder_u64(b, 0x8000000000000005);
	builder_u64(b, 0xffffffff81001234);
	for (uint16_t i = 1; i <= 4; i++)
		builder_u16(b, i);
	builder_bytes(b, "\xc0\xa8\x00\x01", 4);
	builder_u32(b, 6 << 16 | 84);  /* name: "hello" at 84 */
	builder_u32(b, 4 << 16 | 30);  /* tail: 30 behind the end of its field: "end" at 90 */
	builder_u32(b, 16 << 16 | 96); /* nums: two at 96 */
	builder_u32(b, 8 << 16 | 112); /* mask: one word at 112 */
	builder_bytes(b, v6, 16);
	builder_bytes(b, "hello\0end\0\0\0", 12);
	builder_u64(b, 7);
	builder_u64(b, 0x1122334455667788);
	builder_u64(b, 0x10000000f);
	return (struct coati_payload){ b->bytes, (uint32_t)b->len, builder_swap(big) };
}

static struct coati_field_value read_field(const struct coati_tracepoint *tp, const char *name,
					   const struct coati_payload *p)
{
	struct coati_field_value v = { 0 };
	int index = coati_tracepoint_find(tp, name);

	CHECK_INT(index, >=, 0);
	CHECK_OK(coati_tracepoint_read(tp, (uint32_t)index, p, &v));
	return v;
}

TEST(tracepoint_tells_its_name_id_and_fields)
{
	struct coati_tracepoint *tp = parse("\"\"");
	const struct coati_tracepoint_field *f;

	CHECK_STR(coati_tracepoint_name(tp), "demo");
	CHECK_INT(coati_tracepoint_id(tp), ==, 321);
	CHECK_INT(coati_tracepoint_field_count(tp), ==, 17);
	f = coati_tracepoint_field(tp, 3);
	CHECK_STR(f->name, "common_pid");
	CHECK_INT(f->is_common, ==, 1);
	CHECK_INT(f->is_signed, ==, 1);
	f = coati_tracepoint_field(tp, (uint32_t)coati_tracepoint_find(tp, "nums"));
	CHECK_STR(f->type, "__data_loc u64[]");
	CHECK_INT(f->is_common, ==, 0);
	CHECK_INT(f->is_dynamic, ==, 1);
	CHECK_INT(f->offset, ==, 60);
	CHECK(!coati_tracepoint_field(tp, 17));
	CHECK_ERR(coati_tracepoint_find(tp, "nosuch"), -ENOENT);
	coati_tracepoint_free(tp);
}

TEST(tracepoint_fields_are_read_by_size_sign_and_place_in_both_byte_orders)
{
	struct coati_tracepoint *tp = parse("\"\"");
	static struct builder b;

	for (int big = 0; big < 2; big++) {
		struct coati_payload p = payload(&b, big);
		struct coati_field_value v;

		CHECK_U64(read_field(tp, "common_type", &p).number, ==, 321);
		CHECK_INT(read_field(tp, "common_pid", &p).number, ==, 77);
		CHECK_INT(read_field(tp, "tiny", &p).number, ==, -5);
		CHECK_U64(read_field(tp, "half", &p).number, ==, 0xfffe);
		CHECK_INT(read_field(tp, "word", &p).number, ==, -1000);
		CHECK_U64(read_field(tp, "flags", &p).number, ==, 0x8000000000000005);
		v = read_field(tp, "comm", &p);
		CHECK_INT(v.kind, ==, COATI_FIELD_STRING);
		CHECK_INT(v.size, ==, 5);
		CHECK_MEM(v.bytes, "coati", 5);
		v = read_field(tp, "list", &p);
		CHECK_INT(v.kind, ==, COATI_FIELD_ARRAY);
		CHECK_INT(v.count, ==, 4);
		CHECK_U64(coati_field_value_at(&v, 3), ==, 4);
		CHECK_U64(coati_field_value_at(&v, 4), ==, 0);
		v = read_field(tp, "name", &p);
		CHECK_INT(v.kind, ==, COATI_FIELD_STRING);
		CHECK_MEM(v.bytes, "hello", 6);
		v = read_field(tp, "tail", &p);
		CHECK_INT(v.size, ==, 3);
		CHECK_MEM(v.bytes, "end", 4);
		v = read_field(tp, "nums", &p);
		CHECK_INT(v.kind, ==, COATI_FIELD_ARRAY);
		CHECK_INT(v.element_size, ==, 8);
		CHECK_INT(v.count, ==, 2);
		CHECK_U64(coati_field_value_at(&v, 1), ==, 0x1122334455667788);
		CHECK_INT(read_field(tp, "mask", &p).kind, ==, COATI_FIELD_BYTES);
	}
	coati_tracepoint_free(tp);
}

TEST(tracepoint_fields_outside_the_payload_are_malformed)
{
	struct coati_tracepoint *tp = parse("\"%s %d\", __get_str(name), REC->half");
	struct coati_field_value v;
	static struct builder b;
	char line[64];

	for (uint32_t size = 0; size < 130; size++) {
		struct coati_payload p = payload(&b, false);
		uint8_t *exact = malloc(size ? size : 1);

		CHECK(exact);
		memcpy(exact, p.bytes, size < p.size ? size : p.size);
		p.bytes = exact;
		p.size = size < p.size ? size : p.size;
		for (uint32_t i = 0; i < coati_tracepoint_field_count(tp); i++) {
			int r = coati_tracepoint_read(tp, i, &p, &v);

			CHECK(!r || r == -EBADMSG);
			if (!r && v.bytes)
				CHECK(v.bytes >= exact && v.bytes + v.size <= exact + p.size);
		}
		if (size < 90)
			CHECK_ERR(coati_tracepoint_print(tp, &p, NULL, line, sizeof(line)),
				  -EBADMSG);
		else
			CHECK_INT(coati_tracepoint_print(tp, &p, NULL, line, sizeof(line)), ==, 11);
		free(exact);
	}
	CHECK_ERR(coati_tracepoint_read(tp, 17, &(struct coati_payload){ 0 }, &v), -EINVAL);
	coati_tracepoint_free(tp);
}

static const struct print_case {
	const char *fmt, *want;
} cases[] = {
	/* conversions */
	{ "\"plain 100%% text\"", "plain 100% text" },
	{ "\"%d %i %u\", REC->word, REC->tiny, REC->half", "-1000 -5 65534" },
	{ "\"%x %X %o\", REC->half, REC->half, REC->list[3]", "fffe FFFE 4" },
	{ "\"%#x|%#o|%#010x\", 255, 8, 0x1a", "0xff|010|0x0000001a" },
	{ "\"%5d|%-5d|%05d|%+d|% d\", 42, 42, 42, 42, 42", "   42|42   |00042|+42| 42" },
	{ "\"%8.5d|%-8.3x|\", -42, 10", "  -00042|00a     |" },
	{ "\"%hhd %hd %ld %lld %zu\", 300, 70000, -1L, -1, 1", "44 4464 -1 -1 1" },
	{ "\"%u %x\", REC->word, REC->word", "4294966296 fffffc18" },
	{ "\"%c%c\", 'a', REC->word < 0 ? '-' : '+'", "a-" },
	{ "\"%s|%8s|%-8s|%.2s|%6.3s\", REC->comm, REC->comm, REC->comm, REC->comm, REC->comm",
	  "coati|   coati|coati   |co|   coa" },
	{ "\"%.*s|%*d|%*d\", 3, REC->comm, 5, 7, -5, 7", "coa|    7|7    " },
	{ "\"tab\\there \\\"quoted\\\" \\101\\47\"", "tab\there \"quoted\" A'" },
	{ "\"two \" \"pieces %s\", \"of \" \"text\"", "two pieces of text" },
	/* arithmetic as in C */
	{ "\"%d\", 1 + 2 * 3 - 4 / 2 % 3", "5" },
	{ "\"%d\", (1 + 2) * 3 << 2 | 1", "37" },
	{ "\"%d %d\", -7 / 2, -7 % 2", "-3 -1" },
	{ "\"%d\", 1 < 2 == 1 && 3 != 4 || 0", "1" },
	{ "\"%x\", ~0xff & 0xffff ^ 0xf", "ff0f" },
	{ "\"%lx\", 1UL << 40", "10000000000" },
	{ "\"%d\", 1 << 40", "0" },
	{ "\"%d %d\", REC->word / 0, REC->word % 0", "0 0" },
	{ "\"%d\", REC->word >> 2", "-250" },
	{ "\"%d\", (unsigned int)REC->word > 5", "1" },
	{ "\"%d %d\", REC->word > 5, REC->word > 5u", "0 1" },
	{ "\"%lu\", (unsigned long)(void *)(REC->ip) >= (unsigned long)-4095", "0" },
	{ "\"%d\", (u8)300 + (s8)200", "-12" },
	{ "\"%d\", !REC->half + !!REC->half", "1" },
	{ "\"%d\", REC->word < 0 ? 1 ? 2 : 3 : 4", "2" },
	{ "\"%d\", REC->half ?: 9", "65534" },
	{ "\"%d %d %d\", sizeof(u64), sizeof(REC->comm), (int)sizeof(unsigned short)", "8 8 2" },
	{ "\"%d\", (some_t)(REC->half) + (some_t)1", "65535" },
	{ "\"%x\", 0x1F + 010 + 'A'", "68" },
	{ "\"%d\", __builtin_expect(!!(REC->word < 0), 0)", "1" },
	{ "\"%d\", (REC)->half", "65534" },
	/* the tracer's functions */
	{ "\"%s %s\", __get_str(name), __get_rel_str(tail)", "hello end" },
	{ "\"%d %c\", __get_str(name)[0] ? 1 : 0, __get_str(name)[1]", "1 e" },
	{ "\"%s\", __print_flags(REC->list[2], \"|\", { 1, \"A\" }, { 2, \"B\" }, { 4, \"C\" })",
	  "A|B" },
	{ "\"%s\", __print_flags(REC->flags, \"|\", { 1, \"A\" }, { 4, \"C\" })",
	  "A|C|0x8000000000000000" },
	{ "\"[%s]\", __print_flags(0, \"|\", { 1, \"A\" })", "[]" },
	{ "\"%s\", __print_flags(REC->half, \"\", {NAMED_ONE, \"A\"}, { 0xfffe, \"B\" })", "B" },
	{ "\"%s %s\", __print_symbolic(REC->list[1], { 1, \"one\" }, { 2, \"two\" }), "
	  "__print_symbolic(9, { 1, \"one\" })",
	  "two 0x9" },
	{ "\"%s|%s\", __print_hex(REC->addr, 4), __print_hex_str(REC->addr, 3)",
	  "c0 a8 00 01|c0a800" },
	{ "\"%s\", __print_hex(__get_str(name), 100)", "68 65 6c 6c 6f 00" },
	{ "\"%s\", __print_array(__get_dynamic_array(nums), __get_dynamic_array_len(nums) / "
	  "sizeof(u64), sizeof(u64))",
	  "{0x7,0x1122334455667788}" },
	{ "\"%s\", __print_array(REC->list, 3, 2)", "{0x1,0x2,0x3}" },
	{ "\"%llx %x\", ((u64 *)__get_dynamic_array(nums))[1], *(u32 *)__get_dynamic_array(nums)",
	  "1122334455667788 7" },
	{ "\"%s\", __get_cpumask(mask)", "00000001,0000000f" },
	{ "\"%lld.%09lld\", __print_ns_to_secs(3000000042UL), "
	  "__print_ns_without_secs(3000000042UL)",
	  "3.000000042" },
	{ "\"%s\", REC->half ? __print_symbolic(REC->list[0], { 1, \"x\" }) : \"\"", "x" },
	{ "\"%.*s\", REC->list[1], REC->half == 1 ? __get_str(name) : ((void *)0)", "(n" },
	/* addresses */
	{ "\"%p %pS %ps %px\", REC->ip, REC->ip, REC->ip, REC->ip",
	  "0xffffffff81001234 start+0x34 start ffffffff81001234" },
	{ "\"%pI4 %pi4\", REC->addr, REC->addr", "192.168.0.1 192.168.0.1" },
	{ "\"%pI6c %pI6\", REC->v6, REC->v6",
	  "2001:db8::a00:0:1 2001:0db8:0000:0000:0000:0a00:0000:0001" },
	{ "\"%pU\", REC->v6", "20010db8-0000-0000-0000-0a0000000001" },
	{ "\"%pUL\", REC->v6", "B80D0120-0000-0000-0000-0A0000000001" },
	{ "\"%4phN %*phC\", REC->addr, 3, REC->addr", "c0a80001 c0:a8:00" },
	{ "\"%*pbl %*pb\", 40, __get_dynamic_array(mask), 33, __get_dynamic_array(mask)",
	  "0-3,32 1,0000000f" },
	{ "\"%s\", REC->ip", "0xffffffff81001234" },
	/* what cannot be known is a question mark, as long as its fields are shown elsewhere */
	{ "\"page=%p half=%d\", ((struct page *)vmemmap_base) + REC->half, REC->half",
	  "page=? half=65534" },
};

/* Every address below 2^12 behind "start" is in it. */
static int find_symbol(void *context, uint64_t addr, const char **ret_name, uint64_t *ret_offset)
{
	*ret_name = context;
	*ret_offset = addr & 0xff;
	return 0;
}

TEST(tracepoint_print_format_prints_what_the_kernel_would)
{
	static struct builder b;
	char symbol[] = "start";
	struct coati_symbol_source symbols = { find_symbol, symbol };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coati_tracepoint *tp = parse(cases[i].fmt);
		char line[256] = "";

		if (!coati_tracepoint_is_understood(tp))
			test_fail_at(__FILE__, __LINE__, "not understood: %s", cases[i].fmt);
		for (int big = 0; big < 2; big++) {
			struct coati_payload p = payload(&b, big);

			/* *(u32 *) of a u64 is another half there */
			if (big && strstr(cases[i].fmt, "*(u32 *)"))
				continue;
			CHECK_INT(coati_tracepoint_print(tp, &p, &symbols, line, sizeof(line)), ==,
				  strlen(cases[i].want));
			CHECK_STR(line, cases[i].want);
		}
		coati_tracepoint_free(tp);
	}
}

TEST(tracepoint_print_format_that_is_not_understood_gives_all_fields)
{
	static const char *const unknown[] = {
		"\"%d\", unknown_function(REC->half)",
		"\"%d\", ({ int x = REC->half; x; })",
		"\"%d\", REC->nosuch",
		"\"%d\", REC->role.word",
		"\"%d\", unknown_variable + REC->half", /* would hide half */
		"\"%d\"",
		"\"%d\", 1, 2",
		"\"%q\", 1",
		"\"%pV\", REC->ip",
		"\"%pI4\", REC->word",
		"\"%s",
		"\"%d\", (1",
		"\"%d\", \"text\"",
		"\"%d\", 1 +",
		"\"%d\", 99999999999999999999999",
		"\"%s\", __print_flags(1, \"|\", { REC->half, \"A\" })",
		"\"%s\", __get_str(half)",
		"",
		"no string",
	};
	static struct builder b;
	struct coati_payload p = payload(&b, false);

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct coati_tracepoint *tp = parse(unknown[i]);
		char line[512];

		if (coati_tracepoint_is_understood(tp))
			test_fail_at(__FILE__, __LINE__, "understood: %s", unknown[i]);
		CHECK_OK(coati_tracepoint_print(tp, &p, NULL, line, sizeof(line)));
		CHECK_STR(line,
			  "comm=coati tiny=-5 half=65534 word=-1000 flags=9223372036854775813 "
			  "ip=0xffffffff81001234 list={0x1,0x2,0x3,0x4} addr={0xc0,0xa8,0x0,0x1} "
			  "name=hello tail=end nums={0x7,0x1122334455667788} "
			  "mask={0xf,0x0,0x0,0x0,0x1,0x0,0x0,0x0} "
			  "v6={0x20,0x1,0xd,0xb8,0x0,0x0,0x0,0x0,0x0,0x0,0xa,0x0,0x0,0x0,0x0,0x1}");
		coati_tracepoint_free(tp);
	}
}

TEST(tracepoint_print_writes_what_fits_and_returns_what_would)
{
	struct coati_tracepoint *tp =
		parse("\"%s %10s %-10d|%d\", REC->comm, __get_str(name), REC->half, REC->word");
	static const char want[] = "coati      hello 65534     |-1000";
	static struct builder b;
	struct coati_payload p = payload(&b, false);

	for (size_t cap = 0; cap < sizeof(want) + 4; cap++) {
		char *line = malloc(cap ? cap : 1);
		size_t fits = cap <= strlen(want) ? cap - 1 : strlen(want);

		CHECK(line);
		CHECK_INT(coati_tracepoint_print(tp, &p, NULL, line, cap), ==, strlen(want));
		if (cap) {
			CHECK_MEM(line, want, fits);
			CHECK_INT(line[fits], ==, 0);
		}
		free(line);
	}
	coati_tracepoint_free(tp);
}

/* @open, @count times, then @middle, then @close as often. */
static struct coati_tracepoint *nested(const char *open, const char *middle, const char *close,
				       size_t count)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_tracepoint *tp;

	coati_strbuf_adds(&s, "\"%d\", ");
	for (size_t i = 0; i < count; i++)
		coati_strbuf_adds(&s, open);
	coati_strbuf_adds(&s, middle);
	for (size_t i = 0; i < count; i++)
		coati_strbuf_adds(&s, close);
	tp = parse(s.text);
	coati_strbuf_fini(&s);
	return tp;
}

TEST(tracepoint_print_format_has_limits)
{
	static const char *const shapes[][3] = { { "(", "1", ")" },
						 { "-", "REC->half", "" },
						 { "", "REC->half", "+REC->half" },
						 { "1?", "REC->half", ":2" },
						 { "(u64)", "REC->half", "" },
						 { "1+(", "REC->half", ")" } };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct coati_tracepoint *few = nested(shapes[i][0], shapes[i][1], shapes[i][2], 20);
		struct coati_tracepoint *many =
			nested(shapes[i][0], shapes[i][1], shapes[i][2], 5000);

		CHECK_INT(coati_tracepoint_is_understood(few), ==, 1);
		CHECK_INT(coati_tracepoint_is_understood(many), ==, 0);
		coati_tracepoint_free(few);
		coati_tracepoint_free(many);
	}
}

TEST(tracepoint_parse_survives_every_failing_allocation)
{
	struct strbuf s = STRBUF_INIT(65536);
	struct coati_tracepoint *tp;
	struct coati_error err;
	int r = -ENOMEM;

	coati_strbuf_printf(&s, "%sprint fmt: %s\n", head,
			    "\"%s %d\", __print_flags(REC->half, \"|\", { 1, \"A\" }), REC->word");
	for (uint64_t n = 0; r; n++) {
		coati_alloc_fail_after(n);
		r = coati_tracepoint_parse(s.text, s.len, &tp, &err);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(!r || r == -ENOMEM);
		CHECK_INT(n, <, 100);
	}
	CHECK_INT(coati_tracepoint_is_understood(tp), ==, 1);
	coati_tracepoint_free(tp);
	coati_strbuf_fini(&s);
	CHECK_ERR(coati_tracepoint_parse("nonsense", 8, &tp, &err), -EBADMSG);
	CHECK_HAS(err.text, "format file");
	coati_tracepoint_free(NULL);
}

TEST(tracepoint_print_allocates_nothing)
{
	struct coati_tracepoint *tp = parse("\"%s %s\", __get_cpumask(mask), "
					    "__print_flags(REC->flags, \"|\", { 1, \"A\" })");
	static struct builder b;
	struct coati_payload p = payload(&b, false);
	uint64_t before = coati_alloc_count();
	char line[128];

	CHECK_OK(coati_tracepoint_print(tp, &p, NULL, line, sizeof(line)));
	CHECK_U64(coati_alloc_count(), ==, before);
	coati_tracepoint_free(tp);
}
