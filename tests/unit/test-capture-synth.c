/* SPDX-License-Identifier: MIT */
/* What runs already, read from a /proc made of plain files: strange names, hidden addresses,
 * damage. */
#include "lib/test.h"

#include <stdio.h>
#include <sys/mman.h>

#include <coati/capture.h>
#include <coati/recording.h>

#include "base/alloc.h"
#include "capture/attr.h"
#include "capture/synth.h"
#include "lib/fake-tree.h"
#include "record/record.h"
#include "recording/writer.h"

static const struct coati_attr side = { .type = COATI_TYPE_SOFTWARE,
					.config = COATI_SW_DUMMY,
					.sample_type = CAPTURE_IDENTITY,
					.flags = COATI_ATTR_SAMPLE_ID_ALL };

static int parse_maps(const char *text, struct coati_mmap *ret)
{
	static char line[1024];

	snprintf(line, sizeof(line), "%s", text);
	return coati_maps_line(line, ret);
}

TEST(maps_line_gives_addresses_rights_file_and_name)
{
	struct coati_mmap m;

	CHECK_OK(parse_maps("55d0c8a00000-55d0c8a02000 r-xp 00002000 fe:01 1234      /usr/bin/a b ",
			    &m));
	CHECK_U64(m.addr, ==, 0x55d0c8a00000);
	CHECK_U64(m.len, ==, 0x2000);
	CHECK_U64(m.pgoff, ==, 0x2000);
	CHECK_U64(m.maj, ==, 0xfe);
	CHECK_U64(m.min, ==, 1);
	CHECK_U64(m.ino, ==, 1234);
	CHECK_U64(m.prot, ==, PROT_READ | PROT_EXEC);
	CHECK_U64(m.flags, ==, MAP_PRIVATE);
	CHECK_STR(m.name, "/usr/bin/a b ");
	CHECK_OK(parse_maps("1000-2000 -w-s 00000000 00:00 0", &m));
	CHECK_STR(m.name, "");
	CHECK_U64(m.prot, ==, PROT_WRITE);
	CHECK_U64(m.flags, ==, MAP_SHARED);
}

TEST(maps_line_refuses_what_is_none)
{
	static const char *const bad[] = {
		"",
		" ",
		"1000",
		"1000-",
		"1000-2000",
		"2000-1000 r-xp 0 0:0 0",
		"1000-1000 r-xp 0 0:0 0",
		"1000-2000 r-x 0 0:0 0",
		"1000-2000 r-xp x 0:0 0",
		"1000-2000 r-xp 0 00 0",
		"1000-2000 r-xp 0 0:0 x",
		"1000-2000 r-xp 0 0:0 -1",
		"1000-2000 r-xp 0 100000000:0 0",
		"11111111111111111-2 r-xp 0 0:0 0",
		"g000-2000 r-xp 0 0:0 0",
	};
	struct coati_mmap m;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(parse_maps(bad[i], &m), -EBADMSG);
}

#define STAT_TAIL " S 1 2 3 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 100\n"

static int parse_stat(const char *text, struct proc_stat *ret)
{
	return coati_proc_stat(text, strlen(text), ret);
}

TEST(proc_stat_bears_every_name_that_a_process_can_have)
{
	struct proc_stat st;

	CHECK_OK(parse_stat("12 (bash)" STAT_TAIL, &st));
	CHECK_STR(st.comm, "bash");
	CHECK_U64(st.ppid, ==, 1);
	CHECK_U64(st.nr_threads, ==, 3);
	CHECK(!st.kernel);
	CHECK_OK(parse_stat("12 (a) S 9 (b\n)" STAT_TAIL, &st));
	CHECK_STR(st.comm, "a) S 9 (b\n");
	CHECK_U64(st.ppid, ==, 1);
	CHECK_OK(parse_stat("12 ()" STAT_TAIL, &st));
	CHECK_STR(st.comm, "");
	CHECK_OK(parse_stat("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 5\n", &st));
	CHECK(st.kernel);
}

TEST(proc_stat_refuses_what_is_cut)
{
	static const char whole[] = "12 (bash)" STAT_TAIL;
	struct proc_stat st;

	for (size_t n = 0; n < strlen(whole) - strlen(" 3 0 100\n"); n++) {
		static char text[sizeof(whole)];

		memset(text, 0, sizeof(text));
		memcpy(text, whole, n);
		CHECK_ERR(coati_proc_stat(text, n, &st), -EBADMSG);
	}
}

static void make_proc(void)
{
	static const char maps[] = "400000-401000 r--p 00000000 08:01 55 /bin/prog\n"
				   "401000-402000 r-xp 00001000 08:01 55 /bin/prog\n"
				   "what is this\n"
				   "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
				   "7fff00000000-7fff00001000 rw-p 00000000 00:00 0 [stack]\n";

	CHECK_OK(fake_file("proc", "10/stat", "10 (prog)" STAT_TAIL));
	CHECK_OK(fake_file("proc", "10/maps", maps));
	CHECK_OK(fake_file("proc", "10/status", "Name:\tprog\nTgid:\t10\nNgid:\t0\n"));
	CHECK_OK(fake_file("proc", "11/status", "Name:\tother\nTgid:\t10\nNgid:\t0\n"));
	CHECK_OK(fake_file("proc", "10/task/10/comm", "prog\n"));
	CHECK_OK(fake_file("proc", "10/task/11/comm", "worker\n"));
	CHECK_OK(fake_file("proc", "10/task/x/comm", "no\n"));
	CHECK_OK(fake_file("proc", "30/stat", "broken"));
	CHECK_OK(fake_file(
		"proc", "kallsyms",
		"0000000000000000 A fixed_percpu_data\n"
		"ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff81000100 t x\n"));
	CHECK_OK(fake_file(
		"proc", "iomem",
		"00000000-00000fff : Reserved\n00100000-0fffffff : System RAM\n"
		"  01000000-01ffffff : Kernel code\n  02000000-02ffffff : Kernel data\n"));
	CHECK_OK(fake_file("proc", "modules",
			   "xfs 4096 1 - Live 0xffffffffc0000000\nbad line\n"
			   "ext4 8192 0 a,b, Live 0xffffffffc0010000 (E)\n"));
}

struct fixture {
	struct coati_writer *writer;
	struct coati_sample_format format;
	struct images images;
	struct synth synth;
};

static int open_fixture(struct fixture *f)
{
	const uint64_t id = 9;

	*f = (struct fixture){ 0 };
	CHECK_OK(coati_writer_open("out.data", NULL, &f->writer, NULL));
	CHECK_OK(coati_writer_add_event(
		f->writer,
		&(struct coati_recording_event){
			.name = "dummy", .attr = side, .ids = &id, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(f->writer, NULL));
	coati_sample_format_init(&side, &f->format);
	coati_images_init(&f->images);
	f->synth = (struct synth){
		.writer = f->writer, .format = &f->format, .id = id, .images = &f->images
	};
	return coati_synth_open(&f->synth, "proc", NULL);
}

static void close_fixture(struct fixture *f)
{
	coati_synth_close(&f->synth);
	coati_images_fini(&f->images);
	CHECK_OK(coati_writer_close(&f->writer, NULL));
}

/* All records of out.data as lines of text. */
static char *records(void)
{
	static char text[8192];
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	size_t len = 0;

	text[0] = '\0';
	CHECK_OK(coati_recording_open("out.data", NULL, &r, NULL));
	while (coati_recording_next(r, &item) > 0) {
		CHECK_OK(coati_record_decode(
			&item.raw, coati_format_table_get(coati_recording_formats(r), 0), &rec));
		CHECK_U64(rec.id.time, ==, 0);
		CHECK_U64(rec.id.id, ==, 9);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s ",
					coati_record_name(rec.type));
		if (rec.type == COATI_RECORD_FORK)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u/%u<%u\n",
						rec.u.task.pid, rec.u.task.tid, rec.u.task.ppid);
		if (rec.type == COATI_RECORD_COMM)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u/%u %s\n",
						rec.u.comm.pid, rec.u.comm.tid, rec.u.comm.name);
		if (rec.type == COATI_RECORD_MMAP || rec.type == COATI_RECORD_MMAP2)
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%d %llx+%llx %s\n",
				(int)rec.u.mmap.pid, (unsigned long long)rec.u.mmap.addr,
				(unsigned long long)rec.u.mmap.len, rec.u.mmap.name);
	}
	coati_recording_close(&r);
	return text;
}

#define PROG                               \
	"FORK 10/10<1\n"                   \
	"COMM 10/10 prog\n"                \
	"MMAP2 10 401000+1000 /bin/prog\n" \
	"MMAP2 10 7f0000000000+1000 //anon\n"
#define WORKER            \
	"FORK 10/11<10\n" \
	"COMM 10/11 worker\n"

TEST(synth_tells_of_processes_threads_and_code)
{
	struct fixture f;

	make_proc();
	CHECK_OK(open_fixture(&f));
	CHECK_OK(coati_synth_all(&f.synth));
	CHECK_U64(f.synth.nr, ==, 6);
	CHECK_INT(f.images.v.len, ==, 1);
	close_fixture(&f);
	CHECK_STR(records(), PROG WORKER);
}

TEST(synth_of_one_thread_has_its_process_and_no_other_thread)
{
	struct fixture f;

	make_proc();
	CHECK_OK(open_fixture(&f));
	CHECK_OK(coati_synth_thread(&f.synth, 11));
	CHECK_OK(coati_synth_thread(&f.synth, 10));
	CHECK_OK(coati_synth_thread(&f.synth, 12345)); /* gone */
	CHECK_OK(coati_synth_process(&f.synth, 12345));
	CHECK_OK(coati_synth_process(&f.synth, 30)); /* unreadable */
	close_fixture(&f);
	CHECK_STR(records(), PROG WORKER PROG);
}

TEST(synth_with_data_has_readable_mappings_too)
{
	struct fixture f;

	make_proc();
	CHECK_OK(open_fixture(&f));
	f.synth.flags = COATI_CAPTURE_DATA;
	CHECK_OK(coati_synth_maps(&f.synth, 10));
	close_fixture(&f);
	CHECK_STR(records(),
		  "MMAP2 10 400000+1000 /bin/prog\nMMAP2 10 401000+1000 /bin/prog\n"
		  "MMAP2 10 7f0000000000+1000 //anon\nMMAP2 10 7fff00000000+1000 [stack]\n");
}

TEST(synth_tells_of_the_kernel_and_its_modules)
{
	struct fixture f;

	make_proc();
	CHECK_OK(open_fixture(&f));
	CHECK_OK(coati_synth_kernel(&f.synth));
	close_fixture(&f);
	CHECK_STR(records(),
		  "MMAP -1 ffffffffc0000000+1000 [xfs]\nMMAP -1 ffffffffc0010000+2000 [ext4]\n"
		  "MMAP -1 ffffffff81000000+1000000 [kernel.kallsyms]_text\n");
}

TEST(synth_leaves_out_a_kernel_whose_addresses_are_hidden)
{
	struct fixture f;

	make_proc();
	CHECK_OK(fake_file("proc", "kallsyms",
			   "0000000000000000 T _stext\n0000000000000000 T _text\n"));
	CHECK_OK(open_fixture(&f));
	CHECK_OK(coati_synth_kernel(&f.synth));
	CHECK_U64(f.synth.nr, ==, 0);
	close_fixture(&f);
}

TEST(synth_of_a_kernel_of_unknown_length_ends_where_the_modules_begin)
{
	struct fixture f;

	make_proc();
	CHECK_OK(fake_file("proc", "iomem", "00000000-00000000 : Kernel code\n"));
	CHECK_OK(open_fixture(&f));
	CHECK_OK(coati_synth_kernel(&f.synth));
	close_fixture(&f);
	CHECK_HAS(records(), "MMAP -1 ffffffff81000000+3f000000 [kernel.kallsyms]_text\n");
}

TEST(synth_without_proc_says_what_to_do)
{
	struct coati_error err = { 0 };
	struct synth s = { 0 };

	CHECK_ERR(coati_synth_open(&s, "no-such-folder", &err), -ENOENT);
	CHECK_HAS(err.text, "mount -t proc");
	coati_synth_close(&s);
}

TEST(synth_survives_each_failing_allocation)
{
	bool done = false;

	make_proc();
	for (uint64_t n = 0; !done; n++) {
		struct fixture f;
		int r;

		CHECK_U64(n, <, 200);
		f = (struct fixture){ 0 };
		CHECK_OK(open_fixture(&f));
		coati_alloc_fail_after(n);
		r = coati_synth_all(&f.synth);
		if (r >= 0)
			r = coati_synth_kernel(&f.synth);
		coati_alloc_fail_after(UINT64_MAX);
		done = r >= 0 && f.synth.nr == 9;
		close_fixture(&f);
	}
}
