/* SPDX-License-Identifier: MIT */
/*
 * Records other than samples, as bytes written down by hand from the kernel's description (least
 * significant byte first), against the fields that must come out of them, and back.
 */
#include <coati/record.h>

#include "lib/record-builder.h"
#include "lib/record-views.h"
#include "lib/test.h"
#include "record/record.h"

/* Most tests: sample_id_all with TID, TIME and CPU: a trailer of 24 bytes. */
#define TRAILER_TYPE (COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_CPU)
/* pid 0x11, tid 0x12, time 0x0807060504030201, cpu 3 */
#define TRAILER                                                                                   \
	0x11, 0, 0, 0, 0x12, 0, 0, 0, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x03, 0, 0, \
		0, 0, 0, 0, 0

static const struct coati_attr with_trailer = {
	.sample_type = TRAILER_TYPE,
	.flags = COATI_ATTR_SAMPLE_ID_ALL,
};

static void decode(const uint8_t *bytes, size_t size, const struct coati_attr *attr,
		   struct coati_record *ret)
{
	struct coati_sample_format fmt;
	struct coati_raw raw;
	uint8_t back[512];

	coati_sample_format_init(attr, &fmt);
	CHECK_INT(coati_raw_next(&bytes, &size, builder_swap(false), &raw), ==, 1);
	CHECK_INT(size, ==, 0);
	CHECK_OK(coati_record_decode(&raw, &fmt, ret));
	CHECK(record_views_inside(ret, &raw));
	if (builder_swap(false))
		return;
	CHECK_INT(coati_record_encode(ret, &fmt, back, sizeof(back)), ==, raw.size);
	CHECK_MEM(back, raw.body - COATI_RAW_HEADER, raw.size);
}

#define DECODE(bytes, rec) decode((bytes), sizeof(bytes), &with_trailer, (rec))

static void check_trailer(const struct coati_record *rec)
{
	CHECK_U64(rec->id.present, ==, TRAILER_TYPE);
	CHECK_U64(rec->id.pid, ==, 0x11);
	CHECK_U64(rec->id.tid, ==, 0x12);
	CHECK_U64(rec->id.time, ==, 0x0807060504030201);
	CHECK_U64(rec->id.cpu, ==, 3);
	CHECK_U64(rec->extra_size, ==, 0);
}

TEST(record_mmap_has_its_addresses_and_name)
{
	static const uint8_t bytes[] = {
		1,    0,    0,	  0,	0x02, 0x20, 0x48, 0,	/* MMAP, user, data, 72 bytes */
		0x21, 0x22, 0,	  0,	0x23, 0x24, 0,	  0,	/* pid, tid */
		0x00, 0x10, 0x40, 0x00, 0,    0,    0,	  0,	/* addr */
		0x00, 0x20, 0,	  0,	0,    0,    0,	  0,	/* len */
		0x00, 0x30, 0,	  0,	0,    0,    0,	  0x80, /* pgoff */
		'/',  'b',  'i',  'n',	'/',  's',  'h',  0,	TRAILER,
	};
	struct coati_record rec;

	_Static_assert(sizeof(bytes) == 0x48, "as the header says");
	DECODE(bytes, &rec);
	CHECK_INT(rec.type, ==, COATI_RECORD_MMAP);
	CHECK_INT(rec.misc, ==, COATI_MISC_USER | COATI_MISC_MMAP_DATA);
	CHECK_U64(rec.u.mmap.pid, ==, 0x2221);
	CHECK_U64(rec.u.mmap.tid, ==, 0x2423);
	CHECK_U64(rec.u.mmap.addr, ==, 0x401000);
	CHECK_U64(rec.u.mmap.len, ==, 0x2000);
	CHECK_U64(rec.u.mmap.pgoff, ==, 0x8000000000003000);
	CHECK_STR(rec.u.mmap.name, "/bin/sh");
	CHECK_INT(rec.u.mmap.build_id_size, ==, 0);
	check_trailer(&rec);
}

TEST(record_mmap2_has_device_and_inode)
{
	static const uint8_t bytes[] = {
		10,   0,    0,	  0, 0x02, 0,	 0x68, 0,    /* MMAP2, user */
		0x01, 0,    0,	  0, 0x02, 0,	 0,    0,    /* pid, tid */
		0x00, 0x10, 0x40, 0, 0,	   0,	 0,    0,    /* addr */
		0x00, 0x20, 0,	  0, 0,	   0,	 0,    0,    /* len */
		0x00, 0x30, 0,	  0, 0,	   0,	 0,    0,    /* pgoff */
		0x08, 0,    0,	  0, 0x09, 0,	 0,    0,    /* maj, min */
		0x0a, 0,    0,	  0, 0,	   0,	 0,    0x01, /* ino */
		0x0b, 0,    0,	  0, 0,	   0,	 0,    0x02, /* generation */
		0x05, 0,    0,	  0, 0x02, 0x10, 0,    0,    /* prot, flags */
		'x',  0,    0,	  0, 0,	   0,	 0,    0,    TRAILER,
	};
	struct coati_record rec;

	_Static_assert(sizeof(bytes) == 0x68, "as the header says");
	DECODE(bytes, &rec);
	CHECK_U64(rec.u.mmap.maj, ==, 8);
	CHECK_U64(rec.u.mmap.min, ==, 9);
	CHECK_U64(rec.u.mmap.ino, ==, 0x010000000000000a);
	CHECK_U64(rec.u.mmap.ino_generation, ==, 0x020000000000000b);
	CHECK_U64(rec.u.mmap.prot, ==, 5);
	CHECK_U64(rec.u.mmap.flags, ==, 0x1002);
	CHECK_INT(rec.u.mmap.build_id_size, ==, 0);
	CHECK_STR(rec.u.mmap.name, "x");
	check_trailer(&rec);
}

TEST(record_mmap2_with_misc_bit_14_has_a_build_id_instead)
{
	static const uint8_t bytes[] = {
		10,   0,    0,	  0,	0x02, 0x40, 0x68, 0,	/* MMAP2, user, build id */
		0x01, 0,    0,	  0,	0x02, 0,    0,	  0,	/* pid, tid */
		0x00, 0x10, 0x40, 0,	0,    0,    0,	  0,	/* addr */
		0x00, 0x20, 0,	  0,	0,    0,    0,	  0,	/* len */
		0x00, 0x30, 0,	  0,	0,    0,    0,	  0,	/* pgoff */
		20,   0,    0,	  0,	0xa0, 0xa1, 0xa2, 0xa3, /* size, 3 reserved, 20 bytes */
		0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xab, /* */
		0xac, 0xad, 0xae, 0xaf, 0xb0, 0xb1, 0xb2, 0xb3, /* */
		0x05, 0,    0,	  0,	0x02, 0x10, 0,	  0,	/* prot, flags */
		'x',  0,    0,	  0,	0,    0,    0,	  0,	TRAILER,
	};
	struct coati_record rec;

	_Static_assert(sizeof(bytes) == 0x68, "as the header says");
	DECODE(bytes, &rec);
	CHECK_INT(rec.u.mmap.build_id_size, ==, 20);
	for (int i = 0; i < 20; i++)
		CHECK_INT(rec.u.mmap.build_id[i], ==, 0xa0 + i);
	CHECK_U64(rec.u.mmap.prot, ==, 5);
	CHECK_U64(rec.u.mmap.ino, ==, 0);
	CHECK_STR(rec.u.mmap.name, "x");
	check_trailer(&rec);
}

/* The kernel leaves the bit of another recorder's event set. */
TEST(record_mmap2_with_misc_bit_14_and_no_build_id_has_its_file)
{
	static const uint32_t majors[] = { 0, 8, 20, 21, 254, 259 };

	for (size_t i = 0; i < sizeof(majors) / sizeof(majors[0]); i++) {
		uint8_t back[128];
		struct coati_sample_format fmt;
		struct coati_record rec;
		static struct builder b;
		struct coati_raw raw;

		coati_sample_format_init(&(struct coati_attr){ .flags = 0 }, &fmt);
		builder_start(&b, COATI_RECORD_MMAP2, COATI_MISC_MMAP_BUILD_ID, false);
		for (int k = 0; k < 4; k++)
			builder_u64(&b, 0);
		builder_u64(&b, majors[i] | UINT64_C(3) << 32);
		builder_u64(&b, 1234);
		builder_u64(&b, majors[i] == 20 ? 0 : 5678);
		builder_u64(&b, 0);
		builder_text(&b, "x");
		raw = builder_end(&b);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		CHECK_OK(coati_record_encode(&rec, &fmt, back, sizeof(back)));
		CHECK_MEM(back, raw.body - COATI_RAW_HEADER, raw.size);
		/* looks like one of 20 bytes; no file system has this number */
		if (majors[i] == 20)
			continue;
		CHECK_INT(rec.u.mmap.build_id_size, ==, 0);
		CHECK_U64(rec.u.mmap.maj, ==, majors[i]);
		CHECK_U64(rec.u.mmap.min, ==, 3);
		CHECK_U64(rec.u.mmap.ino, ==, 1234);
	}
}

TEST(record_lost_has_id_and_count)
{
	static const uint8_t bytes[] = {
		2,	 0, 0, 0, 0, 0, 0x30, 0,    /* LOST */
		0x2a,	 0, 0, 0, 0, 0, 0,    0x10, /* id */
		0x39,	 5, 0, 0, 0, 0, 0,    0,    /* lost */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.lost.id, ==, 0x100000000000002a);
	CHECK_U64(rec.u.lost.lost, ==, 1337);
	check_trailer(&rec);
}

TEST(record_comm_has_a_name_and_says_whether_it_was_exec)
{
	static const uint8_t bytes[] = {
		3,    0,    0,	 0,   0x02, 0x20, 0x30, 0, /* COMM, user, exec */
		0x21, 0x22, 0,	 0,   0x23, 0x24, 0,	0, /* pid, tid */
		'c',  'o',  'a', 't', 'i',  0,	  0,	0, TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.comm.pid, ==, 0x2221);
	CHECK_U64(rec.u.comm.tid, ==, 0x2423);
	CHECK_STR(rec.u.comm.name, "coati");
	CHECK(rec.misc & COATI_MISC_COMM_EXEC);
	check_trailer(&rec);
}

static void check_task(uint8_t type)
{
	const uint8_t bytes[] = {
		type,	 0, 0, 0, 0,	0, 0x38, 0, /* FORK or EXIT */
		0x21,	 0, 0, 0, 0x22, 0, 0,	 0, /* pid, ppid */
		0x23,	 0, 0, 0, 0x24, 0, 0,	 0, /* tid, ptid */
		0x88,	 0, 0, 0, 0x77, 0, 0,	 0, /* time */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.task.pid, ==, 0x21);
	CHECK_U64(rec.u.task.ppid, ==, 0x22);
	CHECK_U64(rec.u.task.tid, ==, 0x23);
	CHECK_U64(rec.u.task.ptid, ==, 0x24);
	CHECK_U64(rec.u.task.time, ==, 0x7700000088);
	check_trailer(&rec);
}

TEST(record_exit_and_fork_have_both_pairs_of_ids)
{
	check_task(COATI_RECORD_EXIT);
	check_task(COATI_RECORD_FORK);
}

static void check_throttle(uint8_t type)
{
	const uint8_t bytes[] = {
		type,	 0, 0, 0, 0, 0, 0x38, 0, /* THROTTLE or UNTHROTTLE */
		0x21,	 0, 0, 0, 0, 0, 0,    1, /* time */
		0x22,	 0, 0, 0, 0, 0, 0,    2, /* id */
		0x23,	 0, 0, 0, 0, 0, 0,    3, /* stream id */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.throttle.time, ==, 0x0100000000000021);
	CHECK_U64(rec.u.throttle.id, ==, 0x0200000000000022);
	CHECK_U64(rec.u.throttle.stream_id, ==, 0x0300000000000023);
	check_trailer(&rec);
}

TEST(record_throttle_and_unthrottle_have_time_and_ids)
{
	check_throttle(COATI_RECORD_THROTTLE);
	check_throttle(COATI_RECORD_UNTHROTTLE);
}

TEST(record_read_of_one_event_has_value_times_id_and_lost)
{
	static const uint8_t bytes[] = {
		8,	 0, 0, 0, 0,	0, 0x50, 0, /* READ */
		0x21,	 0, 0, 0, 0x22, 0, 0,	 0, /* pid, tid */
		1,	 0, 0, 0, 0,	0, 0,	 0, /* value */
		2,	 0, 0, 0, 0,	0, 0,	 0, /* enabled */
		3,	 0, 0, 0, 0,	0, 0,	 0, /* running */
		4,	 0, 0, 0, 0,	0, 0,	 0, /* id */
		5,	 0, 0, 0, 0,	0, 0,	 0, /* lost */
		TRAILER,
	};
	struct coati_attr attr = with_trailer;
	struct coati_read_value v;
	struct coati_record rec;

	attr.read_format =
		COATI_READ_ENABLED | COATI_READ_RUNNING | COATI_READ_ID | COATI_READ_LOST;
	decode(bytes, sizeof(bytes), &attr, &rec);
	CHECK_U64(rec.u.read.pid, ==, 0x21);
	CHECK_U64(rec.u.read.tid, ==, 0x22);
	CHECK_U64(rec.u.read.block.nr, ==, 1);
	CHECK_U64(rec.u.read.block.enabled_ns, ==, 2);
	CHECK_U64(rec.u.read.block.running_ns, ==, 3);
	CHECK_OK(coati_read_block_get(&rec.u.read.block, 0, &v));
	CHECK_U64(v.value, ==, 1);
	CHECK_U64(v.id, ==, 4);
	CHECK_U64(v.lost, ==, 5);
	CHECK_ERR(coati_read_block_get(&rec.u.read.block, 1, &v), -EINVAL);
	check_trailer(&rec);
}

TEST(record_read_of_a_group_has_a_value_per_member)
{
	static const uint8_t bytes[] = {
		8,	 0, 0, 0, 0,	0, 0x58, 0, /* READ */
		0x21,	 0, 0, 0, 0x22, 0, 0,	 0, /* pid, tid */
		2,	 0, 0, 0, 0,	0, 0,	 0, /* nr */
		7,	 0, 0, 0, 0,	0, 0,	 0, /* running */
		1,	 0, 0, 0, 0,	0, 0,	 0, /* value, id */
		4,	 0, 0, 0, 0,	0, 0,	 0, /* */
		3,	 0, 0, 0, 0,	0, 0,	 0, /* value, id */
		5,	 0, 0, 0, 0,	0, 0,	 0, /* */
		TRAILER,
	};
	struct coati_attr attr = with_trailer;
	struct coati_read_value v;
	struct coati_record rec;

	attr.read_format = COATI_READ_GROUP | COATI_READ_RUNNING | COATI_READ_ID;
	decode(bytes, sizeof(bytes), &attr, &rec);
	CHECK_U64(rec.u.read.block.nr, ==, 2);
	CHECK_U64(rec.u.read.block.enabled_ns, ==, 0);
	CHECK_U64(rec.u.read.block.running_ns, ==, 7);
	CHECK_OK(coati_read_block_get(&rec.u.read.block, 1, &v));
	CHECK_U64(v.value, ==, 3);
	CHECK_U64(v.id, ==, 5);
	CHECK_U64(v.lost, ==, 0);
	CHECK_ERR(coati_read_block_get(&rec.u.read.block, 2, &v), -EINVAL);
}

TEST(record_aux_has_offset_size_and_flags)
{
	static const uint8_t bytes[] = {
		11,	 0,    0,    0, 0, 0, 0x38, 0, /* AUX */
		0x00,	 0x10, 0,    0, 0, 0, 0,    0, /* offset */
		0x00,	 0x20, 0,    0, 0, 0, 0,    0, /* size */
		0x05,	 0x01, 0x00, 0, 0, 0, 0,    0, /* flags: truncated, partial, format 1 */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.aux.offset, ==, 0x1000);
	CHECK_U64(rec.u.aux.size, ==, 0x2000);
	CHECK_U64(rec.u.aux.flags & 0xff, ==, COATI_AUX_FLAG_TRUNCATED | COATI_AUX_FLAG_PARTIAL);
	CHECK_U64(rec.u.aux.flags & COATI_AUX_FLAG_FORMAT_MASK, ==, 0x100);
	check_trailer(&rec);
}

TEST(record_itrace_start_has_pid_and_tid)
{
	static const uint8_t bytes[] = {
		12,   0, 0, 0, 0,    0, 0x28, 0, /* ITRACE_START */
		0x21, 0, 0, 0, 0x22, 0, 0,    0, TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.itrace_start.pid, ==, 0x21);
	CHECK_U64(rec.u.itrace_start.tid, ==, 0x22);
	check_trailer(&rec);
}

TEST(record_lost_samples_has_a_count)
{
	static const uint8_t bytes[] = {
		13,   0, 0, 0, 0, 0, 0x28, 0, /* LOST_SAMPLES */
		0x21, 1, 0, 0, 0, 0, 0,	   0, TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.lost_samples, ==, 0x121);
	check_trailer(&rec);
}

TEST(record_switch_has_nothing_but_its_trailer)
{
	static const uint8_t bytes[] = { 14, 0, 0, 0, 0, 0x60, 0x20, 0, TRAILER };
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK(rec.misc & COATI_MISC_SWITCH_OUT);
	CHECK(rec.misc & COATI_MISC_SWITCH_OUT_PREEMPT);
	check_trailer(&rec);
}

TEST(record_switch_cpu_wide_names_the_other_task)
{
	static const uint8_t bytes[] = {
		15,   0, 0, 0, 0,    0, 0x28, 0, /* SWITCH_CPU_WIDE */
		0x21, 0, 0, 0, 0x22, 0, 0,    0, TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.sw.next_prev_pid, ==, 0x21);
	CHECK_U64(rec.u.sw.next_prev_tid, ==, 0x22);
	check_trailer(&rec);
}

TEST(record_namespaces_has_device_and_inode_of_each)
{
	static const uint8_t bytes[] = {
		16,	 0, 0, 0, 0,	0, 0x50, 0, /* NAMESPACES */
		0x21,	 0, 0, 0, 0x22, 0, 0,	 0, /* pid, tid */
		2,	 0, 0, 0, 0,	0, 0,	 0, /* nr */
		4,	 0, 0, 0, 0,	0, 0,	 0, /* dev */
		0x41,	 0, 0, 0, 0,	0, 0,	 0, /* ino */
		5,	 0, 0, 0, 0,	0, 0,	 0, /* dev */
		0x51,	 0, 0, 0, 0,	0, 0,	 0, /* ino */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.namespaces.pid, ==, 0x21);
	CHECK_U64(rec.u.namespaces.tid, ==, 0x22);
	CHECK_U64(rec.u.namespaces.nr, ==, 2);
	CHECK_U64(rec.u.namespaces.links.count, ==, 4);
	CHECK_U64(coati_u64_at(&rec.u.namespaces.links, 1), ==, 0x41);
	CHECK_U64(coati_u64_at(&rec.u.namespaces.links, 2), ==, 5);
	CHECK_U64(coati_u64_at(&rec.u.namespaces.links, 4), ==, 0);
	check_trailer(&rec);
}

TEST(record_ksymbol_has_address_length_type_and_name)
{
	static const uint8_t bytes[] = {
		17,	 0,   0,   0,	 0,    0,    0x38, 0,	 /* KSYMBOL */
		0x00,	 1,   0,   0xc0, 0xff, 0xff, 0xff, 0xff, /* addr */
		0x80,	 2,   0,   0,	 1,    0,    1,	   0,	 /* len, type, flags */
		'b',	 'p', 'f', '_',	 'x',  0,    0,	   0,	 /* */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.ksymbol.addr, ==, 0xffffffffc0000100);
	CHECK_U64(rec.u.ksymbol.len, ==, 0x280);
	CHECK_U64(rec.u.ksymbol.ksym_type, ==, 1);
	CHECK_U64(rec.u.ksymbol.flags, ==, 1);
	CHECK_STR(rec.u.ksymbol.name, "bpf_x");
	check_trailer(&rec);
}

TEST(record_bpf_event_has_type_id_and_tag)
{
	static const uint8_t bytes[] = {
		18,	 0, 0, 0, 0,	0, 0x30, 0, /* BPF_EVENT */
		2,	 0, 1, 0, 0x2a, 0, 0,	 0, /* type, flags, id */
		1,	 2, 3, 4, 5,	6, 7,	 8, /* tag */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.bpf_event.bpf_type, ==, 2);
	CHECK_U64(rec.u.bpf_event.flags, ==, 1);
	CHECK_U64(rec.u.bpf_event.id, ==, 42);
	CHECK_MEM(rec.u.bpf_event.tag, "\1\2\3\4\5\6\7\10", 8);
	check_trailer(&rec);
}

TEST(record_cgroup_has_id_and_path)
{
	static const uint8_t bytes[] = {
		19,   0,   0,	0, 0, 0, 0x30, 0, /* CGROUP */
		0x2a, 0,   0,	0, 0, 0, 0,    0, /* id */
		'/',  'a', 'b', 0, 0, 0, 0,    0, TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.cgroup.id, ==, 42);
	CHECK_STR(rec.u.cgroup.path, "/ab");
	check_trailer(&rec);
}

TEST(record_text_poke_has_the_bytes_before_and_after)
{
	static const uint8_t bytes[] = {
		20,	 0,    0, 0,	0,    0,    0x38, 0,	/* TEXT_POKE */
		0x00,	 0x10, 0, 0x81, 0xff, 0xff, 0xff, 0xff, /* addr */
		5,	 0,    5, 0,	0x0f, 0x1f, 0x44, 0,	/* lengths, old bytes */
		0,	 0xe9, 1, 2,	3,    4,    0,	  0,	/* new bytes, padding */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.text_poke.addr, ==, 0xffffffff81001000);
	CHECK_U64(rec.u.text_poke.old_len, ==, 5);
	CHECK_U64(rec.u.text_poke.new_len, ==, 5);
	CHECK_MEM(rec.u.text_poke.bytes, "\x0f\x1f\x44\0\0\xe9\1\2\3\4", 10);
	CHECK_U64(rec.extra_size, ==, 2);
	rec.extra_size = 0;
	check_trailer(&rec);
}

TEST(record_aux_output_hw_id_has_the_id)
{
	static const uint8_t bytes[] = {
		21,   0, 0, 0, 0, 0, 0x28, 0, /* AUX_OUTPUT_HW_ID */
		0x21, 0, 0, 0, 0, 0, 0,	   9, TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.aux_hw_id, ==, 0x0900000000000021);
	check_trailer(&rec);
}

TEST(record_callchain_deferred_has_cookie_and_chain)
{
	static const uint8_t bytes[] = {
		22,	 0,    0,    0, 0, 0, 0x40, 0, /* CALLCHAIN_DEFERRED */
		0x21,	 0,    0,    0, 0, 0, 0,    0, /* cookie */
		2,	 0,    0,    0, 0, 0, 0,    0, /* nr */
		0x00,	 0x10, 0x40, 0, 0, 0, 0,    0, /* */
		0x00,	 0x20, 0x40, 0, 0, 0, 0,    0, /* */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.deferred.cookie, ==, 0x21);
	CHECK_U64(rec.u.deferred.callchain.count, ==, 2);
	CHECK_U64(coati_u64_at(&rec.u.deferred.callchain, 1), ==, 0x402000);
	check_trailer(&rec);
}

TEST(record_of_the_tool_is_given_as_bytes_and_has_no_trailer)
{
	static const uint8_t bytes[] = { 68, 0, 0, 0, 0, 0, 12, 0, 1, 2, 3, 4 };
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_INT(rec.type, ==, COATI_RECORD_FINISHED_ROUND);
	CHECK_U64(rec.id.present, ==, 0);
	CHECK_U64(rec.u.tool.size, ==, 4);
	CHECK_MEM(rec.u.tool.bytes, "\1\2\3\4", 4);
}

TEST(record_of_an_unknown_kernel_type_keeps_bytes_and_trailer)
{
	static const uint8_t bytes[] = {
		60, 0, 0, 0, 0, 0, 0x28, 0, 1, 2, 3, 4, 5, 6, 7, 8, TRAILER
	};
	static const uint8_t tiny[] = { 60, 0, 0, 0, 0, 0, 9, 0, 1 };
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.u.tool.size, ==, 8);
	check_trailer(&rec);
	DECODE(tiny, &rec);
	CHECK_U64(rec.u.tool.size, ==, 1);
	CHECK_U64(rec.id.present, ==, 0);
}

TEST(record_bytes_of_a_newer_kernel_are_kept_in_front_of_the_trailer)
{
	static const uint8_t bytes[] = {
		2,	 0, 0, 0, 0, 0, 0x38, 0, /* LOST */
		0x2a,	 0, 0, 0, 0, 0, 0,    0, /* id */
		0x39,	 5, 0, 0, 0, 0, 0,    0, /* lost */
		1,	 2, 3, 4, 5, 6, 7,    8, /* who knows */
		TRAILER,
	};
	struct coati_record rec;

	DECODE(bytes, &rec);
	CHECK_U64(rec.extra_size, ==, 8);
	CHECK_MEM(rec.extra, "\1\2\3\4\5\6\7\10", 8);
	CHECK_U64(rec.u.lost.lost, ==, 1337);
	rec.extra_size = 0;
	check_trailer(&rec);
}

TEST(record_trailer_has_all_six_fields_in_order)
{
	static const uint8_t bytes[] = {
		14, 0, 0, 0, 0, 0, 0x38, 0, /* SWITCH */
		1,  0, 0, 0, 2, 0, 0,	 0, /* pid, tid */
		3,  0, 0, 0, 0, 0, 0,	 0, /* time */
		4,  0, 0, 0, 0, 0, 0,	 0, /* id */
		5,  0, 0, 0, 0, 0, 0,	 0, /* stream id */
		6,  0, 0, 0, 7, 0, 0,	 0, /* cpu, reserved */
		4,  0, 0, 0, 0, 0, 0,	 0, /* identifier */
	};
	struct coati_attr attr = { .sample_type = 0x102c6, .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_record rec;

	decode(bytes, sizeof(bytes), &attr, &rec);
	CHECK_U64(rec.id.pid, ==, 1);
	CHECK_U64(rec.id.tid, ==, 2);
	CHECK_U64(rec.id.time, ==, 3);
	CHECK_U64(rec.id.id, ==, 4);
	CHECK_U64(rec.id.stream_id, ==, 5);
	CHECK_U64(rec.id.cpu, ==, 6);
	CHECK_U64(rec.id.reserved, ==, 7);
}

TEST(record_trailer_with_two_different_ids_is_malformed)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_ID | COATI_SAMPLE_IDENTIFIER,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_sample_format fmt;
	struct coati_record rec;
	static struct builder b;
	struct coati_raw raw;

	coati_sample_format_init(&attr, &fmt);
	for (uint32_t type = COATI_RECORD_SAMPLE; type <= COATI_RECORD_SWITCH;
	     type += COATI_RECORD_SWITCH - COATI_RECORD_SAMPLE) {
		builder_start(&b, type, 0, false);
		builder_u64(&b, 1);
		builder_u64(&b, 2);
		raw = builder_end(&b);
		CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EBADMSG);
	}
}

TEST(record_name_knows_every_type_and_no_other)
{
	CHECK_STR(coati_record_name(9), "SAMPLE");
	CHECK_STR(coati_record_name(10), "MMAP2");
	CHECK_STR(coati_record_name(68), "FINISHED_ROUND");
	CHECK_STR(coati_record_name(86), "SCHEDSTAT_DOMAIN");
	for (uint32_t i = 1; i <= COATI_RECORD_CALLCHAIN_DEFERRED; i++)
		CHECK(coati_record_name(i));
	for (uint32_t i = COATI_RECORD_HEADER_ATTR; i <= COATI_RECORD_SCHEDSTAT_DOMAIN; i++)
		CHECK(coati_record_name(i));
	CHECK(!coati_record_name(0));
	CHECK(!coati_record_name(23));
	CHECK(!coati_record_name(63));
	CHECK(!coati_record_name(87));
	CHECK(!coati_record_name(UINT32_MAX));
}
