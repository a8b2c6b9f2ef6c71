/* SPDX-License-Identifier: MIT */
/*
 * The snapshot oracle: every sample of a recording that has registers and a copy of the stack
 * (coati record -g dwarf) is unwound by our tables and by libdw, which reads the same registers and
 * bytes. Where both have a frame it must be the same one.
 *
 *	oracle-snapshot [-d CACHE] FILE
 *
 * -d as in oracle-step. Prints one line: samples, those that we and libdw walked to the end, those
 * where one of the two stopped earlier than the other (libdw also where it guesses), frames
 * compared, samples with a frame that differs. Exit status 1 when one does.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coati/image.h>
#include <coati/process.h>
#include <coati/recording.h>
#include <coati/unwind.h>

#include "process/processes.h"
#include "record/record.h"

#define FRAMES_MAX 1024
#define SHOWN_MAX  5
#define REG_SP	   7

/* The kernel's numbers of the registers that DWARF calls 0 to 16. */
static const uint32_t dwarf_regs[17] = {
	0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8
};

struct oracle {
	struct coati_images *images;
	struct coati_processes *processes;
	struct coati_unwinder *unwinder;
	/* libdw's view of the process that was seen last */
	Dwfl *dwfl;
	int32_t pid;
	uint64_t space;
	/* the sample */
	const struct coati_record *rec;
	uint64_t sp;
	struct coati_unwind_frame ours[FRAMES_MAX];
	uint64_t theirs[FRAMES_MAX];
	uint32_t nr_theirs;
	/* the account */
	uint64_t samples, complete, we_stopped, they_stopped, frames, wrong;
};

static _Noreturn void die(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(2);
}

/* ---- libdw's way ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct oracle *o = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = o;
	return o->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret, void *arg)
{
	struct oracle *o = arg;
	const struct coati_sample *s = &o->rec->u.sample;
	uint64_t at = addr - o->sp;

	(void)dwfl;
	if (at > s->stack_dyn_size || s->stack_dyn_size - at < sizeof(*ret))
		return false;
	memcpy(ret, s->stack + at, sizeof(*ret));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct oracle *o = arg;
	Dwarf_Word words[17];

	for (int i = 0; i < 17; i++) {
		uint64_t v = 0;

		coati_regs_get(&o->rec->u.sample.regs_user, dwarf_regs[i], &v);
		words[i] = v;
	}
	return dwfl_thread_state_registers(thread, 0, 17, words);
}

static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct oracle *o = arg;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || o->nr_theirs == FRAMES_MAX)
		return DWARF_CB_ABORT;
	o->theirs[o->nr_theirs++] = pc;
	return DWARF_CB_OK;
}

/* Parameters: libdw's. */
static int no_debug(Dwfl_Module *m, void **u, const char *n, Dwarf_Addr b, const char *f,
		    const char *l, GElf_Word c, char **r)
{
	(void)m, (void)u, (void)n, (void)b, (void)f, (void)l, (void)c, (void)r;
	return -1;
}

static int add_module(void *ctx, const struct coati_place *place)
{
	struct oracle *o = ctx;
	struct coati_image_info info = { .size = sizeof(info) };

	if (place->image == COATI_IMAGE_NONE ||
	    coati_image_info(o->images, place->image, &info) < 0 || info.path[0] != '/')
		return 0;
	/* a file that is mapped in two pieces is reported twice with the same base: libdw takes the
	 * first */
	dwfl_report_elf(o->dwfl, info.path, info.path, -1, place->start - place->vaddr, true);
	return 0;
}

static void look_at(struct oracle *o, int32_t pid, uint64_t time)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
						  .find_debuginfo = no_debug };
	static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
						       .get_thread = get_thread,
						       .memory_read = read_memory,
						       .set_initial_registers = set_registers };
	uint64_t space = coati_processes_space(o->processes, pid, time);

	if (o->dwfl && o->pid == pid && o->space == space)
		return;
	if (o->dwfl)
		dwfl_end(o->dwfl);
	o->pid = pid;
	o->space = space;
	o->dwfl = dwfl_begin(&callbacks);
	if (!o->dwfl)
		die("dwfl_begin");
	dwfl_report_begin(o->dwfl);
	coati_processes_each_mapping(o->processes, pid, time, add_module, o);
	dwfl_report_end(o->dwfl, NULL, NULL);
	dwfl_attach_state(o->dwfl, NULL, pid, &threads, o);
}

/* Without a rule for the code libdw follows the frame pointer, wherever that leads: then it is no
 * judge of the next frame. */
static bool they_guessed(const struct oracle *o, uint32_t frame)
{
	Dwarf_Addr pc = o->theirs[frame] - (frame > 0), bias;
	Dwfl_Module *module = dwfl_addrmodule(o->dwfl, pc);
	Dwarf_CFI *cfi = module ? dwfl_module_eh_cfi(module, &bias) : NULL;
	Dwarf_Frame *rule = NULL;
	bool guessed = !cfi || dwarf_cfi_addrframe(cfi, pc - bias, &rule) != 0;

	free(rule);
	return guessed;
}

/* ---- our way ---- */

static int find_place(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	struct oracle *o = ctx;
	struct coati_place place;
	int r = coati_processes_find(o->processes, (int32_t)o->rec->id.pid, addr, o->rec->id.time,
				     &place);

	if (r < 0)
		return r;
	*ret = (struct coati_unwind_place){ place.image, 0, place.start, place.end,
					    addr - place.vaddr };
	return 0;
}

static int walk(struct oracle *o, enum coati_unwind_end *end)
{
	const struct coati_sample *s = &o->rec->u.sample;
	uint64_t regs[64];

	return coati_unwind(o->unwinder,
			    &(struct coati_unwind_input){
				    .size = sizeof(struct coati_unwind_input),
				    .machine = COATI_MACHINE_X86_64,
				    .find = find_place,
				    .ctx = o,
				    .regs = coati_u64_array(&s->regs_user.values, regs),
				    .reg_mask = s->regs_user.mask,
				    .stack = s->stack,
				    .stack_size = s->stack_dyn_size,
				    .stack_addr = o->sp,
			    },
			    o->ours, FRAMES_MAX, end);
}

/* ---- the comparison ---- */

static void show(const struct oracle *o, uint32_t nr, uint32_t at)
{
	if (o->wrong > SHOWN_MAX)
		return;
	printf("# differs: time %" PRIu64 " frame %u\n", o->rec->id.time, at);
	for (uint32_t i = 0; i <= at + 1 && i < nr; i++)
		printf("#   %u: ours 0x%" PRIx64 " (how %u), libdw 0x%" PRIx64 "\n", i,
		       o->ours[i].pc, o->ours[i].how, i < o->nr_theirs ? o->theirs[i] : 0);
}

static void compare(struct oracle *o)
{
	const struct coati_sample *s = &o->rec->u.sample;
	enum coati_unwind_end end = COATI_UNWIND_BAD;
	uint32_t nr;
	int n;

	if (!(s->present & COATI_SAMPLE_STACK_USER) || s->regs_user.abi != 2 ||
	    coati_regs_get(&s->regs_user, REG_SP, &o->sp) < 0)
		return;
	o->samples++;
	n = walk(o, &end);
	nr = n > 0 ? (uint32_t)n : 0;
	o->complete += end == COATI_UNWIND_END;
	look_at(o, (int32_t)o->rec->id.pid, o->rec->id.time);
	o->nr_theirs = 0;
	dwfl_getthread_frames(o->dwfl, o->pid, take_frame, o);
	for (uint32_t i = 0; i < nr && i < o->nr_theirs; i++) {
		o->frames++;
		if (o->ours[i].pc == o->theirs[i])
			continue;
		if (i > 0 && they_guessed(o, i - 1)) {
			o->they_stopped++;
			return;
		}
		o->wrong++;
		show(o, nr, i);
		return;
	}
	o->they_stopped += nr > o->nr_theirs;
	o->we_stopped += nr < o->nr_theirs;
}

static void read_file(struct oracle *o, const char *path)
{
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_error err;

	if (coati_recording_open(path, NULL, &r, &err) < 0)
		die(err.text);
	while (coati_recording_next(r, &item) > 0) {
		struct coati_record rec;

		if (coati_record_decode(
			    &item.raw,
			    coati_format_table_get(coati_recording_formats(r), item.event),
			    &rec) < 0)
			continue;
		o->rec = &rec;
		if (rec.type == COATI_RECORD_SAMPLE)
			compare(o);
		else
			coati_processes_feed(o->processes, &item.raw, &rec);
	}
	coati_recording_close(&r);
}

int main(int argc, char **argv)
{
	static struct oracle o;
	struct coati_images_opts io = { .size = sizeof(io), .flags = COATI_IMAGES_NO_CACHE };
	int opt;

	while ((opt = getopt(argc, argv, "d:")) != -1) {
		if (opt != 'd')
			die("usage: oracle-snapshot [-d CACHE] FILE");
		io.flags = 0;
		io.cache_dir = optarg;
	}
	if (optind + 1 != argc)
		die("usage: oracle-snapshot [-d CACHE] FILE");
	if (coati_images_new(&io, &o.images, NULL) < 0 ||
	    coati_processes_new(o.images, NULL, &o.processes, NULL) < 0 ||
	    coati_unwinder_new(o.images, NULL, &o.unwinder, NULL) < 0)
		die("out of memory");
	read_file(&o, argv[optind]);
	printf("samples %" PRIu64 " complete %" PRIu64 " we-stopped %" PRIu64
	       " they-stopped %" PRIu64 " frames %" PRIu64 " wrong %" PRIu64 "\n",
	       o.samples, o.complete, o.we_stopped, o.they_stopped, o.frames, o.wrong);
	if (o.dwfl)
		dwfl_end(o.dwfl);
	coati_unwinder_free(&o.unwinder);
	coati_processes_free(&o.processes);
	coati_images_free(&o.images);
	return o.wrong ? 1 : 0;
}
