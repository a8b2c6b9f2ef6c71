/* SPDX-License-Identifier: MIT */
/* Format files of tracepoints. */
#include "lib/test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "record/format.h"

#define HEAD "name: x\nID: 7\nformat:\n"

static const char sched_switch[] =
	"name: sched_switch\nID: 372\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] cmd;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u32[] ids;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:48;\tsize:48;\tsigned:0;\n"
	"\tfield:char name[TASK_COMM_LEN];\toffset:96;\tsize:16;\tsigned:0;\n"
	"\tfield:u8 grid[4][8];\toffset:112;\tsize:32;\tsigned:0;\n"
	"\tfield:struct foo * p;\toffset:144;\tsize:8;\tsigned:0;\n"
	"\tfield:enum xfs_group_type type;\toffset:152;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"a=%s b=%d\", REC->prev_comm, REC->prev_pid\n";

/* The result lives in the arena. */
static int parse(const char *text, struct arena *arena, struct coati_tp_format *ret)
{
	return coati_tp_format_parse(text, strlen(text), arena, ret);
}

TEST(format_reads_name_id_fields_and_print_format)
{
	struct coati_tp_format f;
	struct arena arena;

	coati_arena_init(&arena, 1 << 20);
	CHECK_OK(parse(sched_switch, &arena, &f));
	CHECK_STR(f.name, "sched_switch");
	CHECK_INT(f.id, ==, 372);
	CHECK_INT(f.nr_common, ==, 2);
	CHECK_INT(f.nr_fields, ==, 12);
	CHECK_INT(f.size, ==, 156);
	CHECK_STR(f.print_fmt, "\"a=%s b=%d\", REC->prev_comm, REC->prev_pid");
	CHECK_STR(coati_tp_format_find(&f, "prev_pid")->type, "pid_t");
	CHECK(coati_tp_format_find(&f, "prev") == NULL);
	coati_arena_fini(&arena);
}

TEST(format_tells_arrays_strings_pointers_and_places_apart)
{
	static const struct {
		const char *name, *type;
		uint32_t offset, size, array_len;
		int place, is_array, is_signed, is_string, is_pointer;
	} rows[] = {
		{ "common_type", "unsigned short", 0, 2, 0, COATI_TP_INLINE, 0, 0, 0, 0 },
		{ "common_pid", "int", 4, 4, 0, COATI_TP_INLINE, 0, 1, 0, 0 },
		{ "prev_comm", "char[16]", 8, 16, 16, COATI_TP_INLINE, 1, 0, 1, 0 },
		{ "prev_pid", "pid_t", 24, 4, 0, COATI_TP_INLINE, 0, 1, 0, 0 },
		{ "filename", "const char *", 32, 8, 0, COATI_TP_INLINE, 0, 0, 0, 1 },
		{ "cmd", "__data_loc char[]", 40, 4, 0, COATI_TP_DATA_LOC, 1, 0, 1, 0 },
		{ "ids", "__rel_loc u32[]", 44, 4, 0, COATI_TP_REL_LOC, 1, 0, 0, 0 },
		{ "args", "unsigned long[6]", 48, 48, 6, COATI_TP_INLINE, 1, 0, 0, 0 },
		{ "name", "char[TASK_COMM_LEN]", 96, 16, 16, COATI_TP_INLINE, 1, 0, 1, 0 },
		{ "grid", "u8[4][8]", 112, 32, 32, COATI_TP_INLINE, 1, 0, 0, 0 },
		{ "p", "struct foo *", 144, 8, 0, COATI_TP_INLINE, 0, 0, 0, 1 },
		{ "type", "enum xfs_group_type", 152, 4, 0, COATI_TP_INLINE, 0, 0, 0, 0 },
	};
	struct coati_tp_format f;
	struct arena arena;

	coati_arena_init(&arena, 1 << 20);
	CHECK_OK(parse(sched_switch, &arena, &f));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct coati_tp_field *field = &f.fields[i];

		CHECK_STR(field->name, rows[i].name);
		CHECK_STR(field->type, rows[i].type);
		CHECK_INT(field->offset, ==, rows[i].offset);
		CHECK_INT(field->size, ==, rows[i].size);
		CHECK_INT(field->array_len, ==, rows[i].array_len);
		CHECK_INT(field->place, ==, rows[i].place);
		CHECK_INT(field->is_array, ==, rows[i].is_array);
		CHECK_INT(field->is_signed, ==, rows[i].is_signed);
		CHECK_INT(field->is_string, ==, rows[i].is_string);
		CHECK_INT(field->is_pointer, ==, rows[i].is_pointer);
	}
	coati_arena_fini(&arena);
}

TEST(format_refuses_malformed_files)
{
	static const char *const texts[] = {
		"",
		"name: x\n",
		"name: x\nID: 7\n",
		"ID: 7\nformat:\n",
		"name:\nID: 7\nformat:\n",
		"name: x\nID: x\nformat:\n",
		"name: x\nID: 4294967296\nformat:\n",
		"garbage\n" HEAD,
		HEAD "\tgarbage\n",
		HEAD "\tfield:\n",
		HEAD "\tfield:int a\n",
		HEAD "\tfield:int a;\n",
		HEAD "\tfield:int a; offset:0;\n",
		HEAD "\tfield:int a; size:0; offset:0;\n",
		HEAD "\tfield:int a; offset:x; size:4; signed:0;\n",
		HEAD "\tfield:int a; offset:-1; size:4; signed:0;\n",
		HEAD "\tfield:int a; offset:0; size:4; signed:2;\n",
		HEAD "\tfield:int a; offset:0; size:4; signed:0\n",
		HEAD "\tfield:int a; offset:65536; size:4; signed:0;\n",
		HEAD "\tfield:int a; offset:0; size:4294967295; signed:0;\n",
		HEAD "\tfield:a; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:int; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:int 9; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:int a]; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:]; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:[4]; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:int a[65536][65536]; offset:0; size:4; signed:0;\n",
		HEAD "\tfield:__data_loc char[] a; offset:0; size:8; signed:0;\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct coati_tp_format f = { .id = 99 };
		struct arena arena;

		coati_arena_init(&arena, 1 << 20);
		if (parse(texts[i], &arena, &f) != -EBADMSG)
			test_fail_at(__FILE__, __LINE__, "\"%s\" was taken", texts[i]);
		CHECK_INT(f.id, ==, 99);
		coati_arena_fini(&arena);
	}
}

TEST(format_refuses_a_zero_byte_and_too_many_fields)
{
	static char text[200000];
	struct coati_tp_format f;
	struct arena arena;
	size_t len = (size_t)snprintf(text, sizeof(text), HEAD);

	coati_arena_init(&arena, 8 << 20);
	CHECK_ERR(coati_tp_format_parse(HEAD "\0\n", sizeof(HEAD "\0\n") - 1, &arena, &f),
		  -EBADMSG);
	for (int i = 0; i < 1025; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"\tfield:int a%d;\toffset:%d;\tsize:4;\tsigned:0;\n", i,
					i * 4);
	CHECK_ERR(parse(text, &arena, &f), -E2BIG);
	CHECK_ERR(coati_tp_format_parse(text, TP_FORMAT_TEXT_MAX + 1, &arena, &f), -E2BIG);
	coati_arena_fini(&arena);
}

TEST(format_bears_every_truncation_of_a_file)
{
	struct coati_tp_format f;

	for (size_t len = 0; len < sizeof(sched_switch) - 1; len++) {
		char *copy = coati_strndup(sched_switch, len);
		char *exact = coati_alloc(len + 1);
		struct arena arena;

		/* the byte behind the text is ours too: sanitizers watch the next one */
		memcpy(exact, copy, len);
		coati_arena_init(&arena, 1 << 20);
		int r = coati_tp_format_parse(exact, len, &arena, &f);
		CHECK(r == 0 || r == -EBADMSG);
		coati_arena_fini(&arena);
		coati_free(copy);
		coati_free(exact);
	}
}

TEST(format_survives_each_failing_allocation)
{
	struct coati_tp_format f;
	uint64_t n = 0;
	int r;

	do {
		struct arena arena;

		coati_arena_init(&arena, 1 << 20);
		coati_alloc_fail_after(n++);
		r = parse(sched_switch, &arena, &f);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		coati_arena_fini(&arena);
	} while (r < 0);
	CHECK_U64(n, >, 2);
}
