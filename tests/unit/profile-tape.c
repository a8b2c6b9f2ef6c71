/* SPDX-License-Identifier: MIT */
/* The recordings are written with the library's own encoder and writer, which have tests of their
 * own. */
#include "unit/profile-tape.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/test.h"
#include "live-read/text.h"
#include "reading/hooks.h"
#include "record/batch.h"
#include "record/record.h"
#include "recording/writer.h"
#include "unit/elf-builder.h"

#define SAMPLE_TYPE                                                                         \
	(COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP | COATI_SAMPLE_TID | COATI_SAMPLE_TIME | \
	 COATI_SAMPLE_CPU | COATI_SAMPLE_PERIOD)

/* Frame pointer, stack pointer and pc as the kernel numbers them. */
#ifdef __aarch64__
#define REGS (UINT64_C(1) << 29 | UINT64_C(1) << 31 | UINT64_C(1) << 32)
#else
#define REGS (UINT64_C(1) << 6 | UINT64_C(1) << 7 | UINT64_C(1) << 8)
#endif

void tape_program(void)
{
	static const char *const names[] = { "main", "work", "leaf", "other" };
	struct elf_builder b;
	struct elf_symbol syms[4];
	uint32_t text;

	elf_builder_init(&b, false);
	b.type = ET_DYN;
	text = elf_builder_program(&b);
	for (uint32_t i = 0; i < 4; i++)
		syms[i] = (struct elf_symbol){ .name = names[i],
					       .value = BUILDER_TEXT_VADDR + 16 * i,
					       .size = 16,
					       .type = STT_FUNC,
					       .bind = STB_GLOBAL,
					       .shndx = (uint16_t)text };
	elf_builder_symbols(&b, false, syms, 4);
	elf_builder_write(&b, "program");
}

#define FAR_STRINGS 65536 /* behind all that the builder writes */

/* The names lie far behind everything else in the file: the builder has room for short ones
 * alone. */
void tape_program_named(const char *const *names)
{
	struct elf_builder b;
	uint8_t table[5 * sizeof(Elf64_Sym)];
	struct writer t = writer_over(table, sizeof(table));
	uint32_t text, strings, symbols;
	size_t at = 1;
	FILE *f;

	elf_builder_init(&b, false);
	b.type = ET_DYN;
	text = elf_builder_program(&b);
	writer_zeros(&t, sizeof(Elf64_Sym));
	for (uint32_t i = 0; i < 4; at += strlen(names[i++]) + 1) {
		writer_u32(&t, (uint32_t)at);
		writer_u8(&t, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
		writer_u8(&t, 0);
		writer_u16(&t, (uint16_t)text);
		writer_u64(&t, BUILDER_TEXT_VADDR + 16 * i);
		writer_u64(&t, 16);
	}
	strings = elf_builder_section(&b, ".strtab", SHT_STRTAB, "", 1);
	b.sections[strings].offset = FAR_STRINGS;
	b.sections[strings].size = at;
	symbols = elf_builder_section(&b, ".symtab", SHT_SYMTAB, table, t.len);
	b.sections[symbols].link = strings;
	b.sections[symbols].entsize = sizeof(Elf64_Sym);
	elf_builder_write(&b, "program");
	f = fopen("program", "r+");
	CHECK(f && fseek(f, FAR_STRINGS + 1, SEEK_SET) == 0);
	for (uint32_t i = 0; i < 4; i++)
		CHECK(fwrite(names[i], strlen(names[i]) + 1, 1, f) == 1);
	CHECK(fclose(f) == 0);
}

void tape_begin(struct tape *t, const char *path)
{
	*t = (struct tape){ .time = 1000000000 };
	CHECK_OK(coati_writer_open(path, NULL, &t->writer, NULL));
}

void tape_begin_stream(struct tape *t, const char *path)
{
	struct coati_writer_opts o = { .size = sizeof(o), .flags = COATI_WRITER_PIPE };

	*t = (struct tape){ .time = 1000000000 };
	CHECK_OK(coati_writer_open(path, &o, &t->writer, NULL));
}

void tape_event(struct tape *t, uint32_t type, uint64_t config, const char *name,
		uint64_t more_sample_type)
{
	uint64_t id = 100 + t->nr_events;
	struct coati_attr *attr = &t->attrs[t->nr_events];

	*attr = (struct coati_attr){ .type = type,
				     .config = config,
				     .sample_period = 1000,
				     .sample_type = SAMPLE_TYPE | more_sample_type,
				     .read_format = t->read_format,
				     .flags = COATI_ATTR_SAMPLE_ID_ALL | t->attr_flags };
	if (more_sample_type & COATI_SAMPLE_REGS_USER) {
		attr->sample_regs_user = REGS;
		attr->sample_stack_user = TAPE_STACK_BYTES;
	}
	coati_sample_format_init(attr, &t->formats[t->nr_events++]);
	CHECK_OK(coati_writer_add_event(
		t->writer,
		&(struct coati_recording_event){
			.name = name, .attr = *attr, .ids = &id, .nr_ids = 1 },
		NULL));
}

void tape_start(struct tape *t)
{
	CHECK_OK(coati_writer_start(t->writer, NULL));
}

void tape_open(struct tape *t, const char *path)
{
	tape_begin(t, path);
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", COATI_SAMPLE_CALLCHAIN);
	tape_start(t);
}

/* Written with the identity of event 0, at its own time or right now. */
void tape_record(struct tape *t, struct coati_record *rec)
{
	uint8_t buf[16384];
	int size;

	rec->id.present = t->formats[0].sample_type;
	rec->id.id = rec->id.id ? rec->id.id : 100;
	if (!rec->id.time)
		rec->id.time = t->time += 1000;
	else if (rec->id.time > t->time)
		t->time = rec->id.time;
	size = coati_record_encode(rec, &t->formats[rec->id.id - 100], buf, sizeof(buf));
	CHECK_OK(size);
	CHECK_OK(coati_writer_record(t->writer, buf, (size_t)size));
}

void tape_comm(struct tape *t, uint32_t pid, uint32_t tid, const char *name, uint16_t misc)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .misc = misc,
				    .id = { .pid = pid, .tid = tid },
				    .u.comm = { .pid = pid, .tid = tid, .name = name } };

	tape_record(t, &rec);
}

void tape_fork(struct tape *t, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid)
{
	struct coati_record rec = { .type = COATI_RECORD_FORK, .id = { .pid = pid, .tid = tid } };

	rec.u.task = (struct coati_task){
		.pid = pid, .tid = tid, .ppid = ppid, .ptid = ptid, .time = t->time + 1000
	};
	tape_record(t, &rec);
}

void tape_map(struct tape *t, uint32_t pid, uint64_t addr, const char *path)
{
	struct coati_record rec = { .type = COATI_RECORD_MMAP2,
				    .misc = COATI_MISC_USER,
				    .id = { .pid = pid, .tid = pid } };

	rec.u.mmap = (struct coati_mmap){ .pid = pid,
					  .tid = pid,
					  .addr = addr,
					  .len = 4096,
					  .prot = PROT_READ | PROT_EXEC,
					  .flags = MAP_PRIVATE,
					  .name = path };
	tape_record(t, &rec);
}

void tape_process(struct tape *t, uint32_t pid, const char *comm)
{
	char folder[PATH_MAX], path[PATH_MAX + 16];

	CHECK(getcwd(folder, sizeof(folder)));
	snprintf(path, sizeof(path), "%s/program", folder);
	tape_comm(t, pid, pid, comm, COATI_MISC_COMM_EXEC);
	tape_map(t, pid, TAPE_BASE, path);
}

void tape_put(struct tape *t, struct tape_sample s)
{
	uint64_t type = t->formats[s.event].sample_type;
	struct coati_record rec = {
		.type = COATI_RECORD_SAMPLE,
		.misc = s.misc ? s.misc : COATI_MISC_USER,
		.id = { .pid = s.pid, .tid = s.tid ? s.tid : s.pid, .cpu = s.cpu, .time = s.time }
	};

	rec.id.id = 100 + s.event;
	rec.u.sample.present = type;
	for (uint32_t i = 0; i < s.nr && !s.ip; i++)
		if (s.chain[i] < COATI_CONTEXT_MAX)
			s.ip = s.chain[i];
	rec.u.sample.ip = s.ip;
	rec.u.sample.period = s.period ? s.period : 1000;
	rec.u.sample.cgroup = s.cgroup;
	if (s.regs) {
		rec.u.sample.regs_user.abi = 2;
		rec.u.sample.regs_user.mask = REGS;
		rec.u.sample.regs_user.values.bytes = (const uint8_t *)s.regs;
		rec.u.sample.regs_user.values.count = 3;
		rec.u.sample.stack = (const uint8_t *)s.stack;
		rec.u.sample.stack_size = rec.u.sample.stack_dyn_size = TAPE_STACK_BYTES;
	}
	if (s.read)
		rec.u.sample.read =
			(struct coati_read_block){ .format = t->attrs[s.event].read_format,
						   .nr = s.nr_read,
						   .raw = { .bytes = (const uint8_t *)s.read,
							    .count = 1 + 2 * s.nr_read } };
	rec.u.sample.callchain =
		(struct coati_u64s){ .bytes = (const uint8_t *)s.chain, .count = s.nr };
	tape_record(t, &rec);
}

void tape_close(struct tape *t)
{
	CHECK_OK(coati_writer_close(&t->writer, NULL));
}

struct coati_profile *tape_read_hooked(const struct coati_profile_opts *opts,
				       const struct coati_profile_hooks *hooks,
				       const char *const *paths)
{
	static const struct coati_images_opts images = { .size = sizeof(images),
							 .flags = COATI_IMAGES_NO_CACHE };
	struct coati_profile_opts o = { .size = sizeof(o) };
	struct coati_profile *p = NULL;
	struct coati_error err = { 0 };

	if (opts)
		o = *opts;
	o.images = &images;
	CHECK_OK(coati_profile_make(&o, hooks, &p, &err));
	for (; *paths; paths++)
		if (coati_profile_read(p, *paths, NULL, NULL, &err) < 0)
			test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return p;
}

struct coati_profile *tape_read(const struct coati_profile_opts *opts, const char *const *paths)
{
	return tape_read_hooked(opts, NULL, paths);
}

struct coati_profile *tape_profile(const char *path)
{
	return tape_read(NULL, (const char *const[]){ path, NULL });
}

struct coati_view *tape_view(struct coati_profile *p, const struct coati_filter *f)
{
	struct coati_view_opts o = { .size = sizeof(o), .filter = f };
	struct coati_error err = { 0 };
	struct coati_view *v = NULL;

	if (coati_view_new(p, &o, &v, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return v;
}

struct coati_row tape_row(struct coati_view *v, enum coati_by by, const char *name)
{
	struct coati_rows_query q = { .size = sizeof(q), .by = by, .label = "cgroup" };
	const struct coati_row *rows;
	size_t nr;

	CHECK_OK(coati_view_rows(v, &q, &rows, &nr, NULL));
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(rows[i].name, name))
			return rows[i];
	return (struct coati_row){ 0 };
}

void tape_live_event(struct tape *t)
{
	const uint64_t id = COATI_LIVE_ID;
	struct coati_attr attr;

	coati_batch_attr(&attr);
	CHECK_OK(coati_writer_add_event(
		t->writer,
		&(struct coati_recording_event){
			.name = COATI_LIVE_EVENT, .attr = attr, .ids = &id, .nr_ids = 1 },
		NULL));
}

static int put_batch(void *ctx, const uint8_t *bytes, size_t size)
{
	struct tape *t = ctx;
	struct coati_batch b = { .kind = COATI_BATCH_TRACE,
				 .version = 1,
				 .pid = 7,
				 .tid = 7,
				 .time_ns = t->time,
				 .id = COATI_LIVE_ID,
				 .payload = bytes,
				 .payload_size = (uint32_t)size };

	return coati_writer_batch(t->writer, &b);
}

void tape_live_text(struct tape *t, const char *text)
{
	struct coati_error err = { 0 };

	if (coati_live_text_read(text, put_batch, t, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}

void tape_begin_switches(struct tape *t, const char *path)
{
	tape_program();
	tape_begin(t, path);
	t->time = 0;
	t->attr_flags = COATI_ATTR_CONTEXT_SWITCH;
	tape_event(t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock", COATI_SAMPLE_CALLCHAIN);
}

void tape_switch(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time, uint16_t misc)
{
	struct coati_record rec = { .type = COATI_RECORD_SWITCH,
				    .misc = misc,
				    .id = { .pid = pid, .tid = tid, .time = time } };

	tape_record(t, &rec);
}
