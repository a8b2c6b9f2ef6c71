/* SPDX-License-Identifier: MIT */
/* see oracle.h */
#include "oracle.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/image.h"

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(2);
}

void oracle_start(struct oracle_process *p, char **argv, const char *cache_dir)
{
	struct coati_images_opts o = {
		.size = sizeof(o),
		.flags = cache_dir ? 0 : COATI_IMAGES_NO_CACHE,
		.cache_dir = cache_dir,
	};
	int status;

	p->pid = fork();
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (p->pid < 0 || waitpid(p->pid, &status, __WALL) < 0)
		die("starting the program");
	if (!WIFSTOPPED(status)) {
		fprintf(stderr, "%s cannot be run\n", argv[0]);
		exit(2);
	}
	if (coati_images_new(&o, &p->images, NULL) < 0)
		die("coati_images_new");
	p->stale = true;
}

void oracle_end(struct oracle_process *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, __WALL);
	coati_images_free(&p->images);
}

struct coati_unwinder *oracle_unwinder(struct oracle_process *p)
{
	struct coati_unwinder *u = NULL;
	struct coati_error err;

	if (coati_unwinder_new(p->images, NULL, &u, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	return u;
}

bool oracle_read(const struct oracle_process *p, uint64_t addr, void *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)(uintptr_t)addr, size };

	return process_vm_readv(p->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* ---- mappings ---- */

static void add_map(struct oracle_process *p, const struct oracle_map *m, uint64_t offset,
		    const char *path)
{
	struct coati_image_ref ref = {
		.size = sizeof(ref),
		.kind = !strcmp(path, "[vdso]") ? COATI_IMAGE_VDSO : COATI_IMAGE_FILE,
		.pid = p->pid,
		.path = path,
		.map_start = m->start,
		.map_end = m->end,
	};
	struct oracle_map *to = &p->maps[p->nr_maps];
	struct coati_image_mapping map = { m->start, m->end, offset };

	*to = *m;
	to->image = COATI_IMAGE_NONE;
	if (path[0] == '/' || ref.kind == COATI_IMAGE_VDSO)
		if (coati_images_get(p->images, &ref, &to->image, NULL) < 0)
			return;
	to->bias = m->start - offset;
	if (to->image != COATI_IMAGE_NONE && ref.kind == COATI_IMAGE_FILE &&
	    coati_image_bias(p->images, to->image, &map, &to->bias) < 0)
		return;
	p->nr_maps++;
}

static void read_maps(struct oracle_process *p)
{
	char name[64], line[8192];
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)p->pid);
	f = fopen(name, "re");
	p->nr_maps = 0;
	while (f && fgets(line, sizeof(line), f) && p->nr_maps < ORACLE_MAPS_MAX) {
		struct oracle_map m = { 0 };
		unsigned long long start, end, offset;
		char flags[8];
		int at = 0;

/* our own /proc, not foreign text */
#undef sscanf
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, flags, &offset,
			   &at) < 4 ||
		    flags[2] != 'x')
			continue;
		line[strcspn(line, "\n")] = '\0';
		m.start = start;
		m.end = end;
		add_map(p, &m, offset, line + at);
	}
	if (f)
		fclose(f);
	p->stale = false;
}

static int find_map(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	struct oracle_process *p = ctx;

	for (int again = 0; again < 2; again++) {
		if (p->stale || again)
			read_maps(p);
		for (size_t i = 0; i < p->nr_maps; i++) {
			const struct oracle_map *m = &p->maps[i];

			if (addr - m->start >= m->end - m->start)
				continue;
			*ret = (struct coati_unwind_place){ m->image, 0, m->start, m->end,
							    m->bias };
			return 0;
		}
	}
	return -ENOENT;
}

static int read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	return oracle_read(ctx, addr, ret, sizeof(*ret)) ? 0 : -EFAULT;
}

/* ---- the walk ---- */

/* In the kernel's numbering: bits 0-8 and 16-23. */
static uint64_t put_regs(const struct user_regs_struct *r, uint64_t regs[17])
{
	const uint64_t all[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi,
				 r->rbp, r->rsp, r->rip, r->r8,	 r->r9,	 r->r10,
				 r->r11, r->r12, r->r13, r->r14, r->r15 };

	memcpy(regs, all, sizeof(all));
	return UINT64_C(0xff01ff);
}

int oracle_walk(struct oracle_process *p, struct coati_unwinder *u,
		const struct user_regs_struct *regs, struct oracle_frames *f)
{
	uint64_t words[17];
	struct coati_unwind_input in = {
		.size = sizeof(in),
		.machine = COATI_MACHINE_X86_64,
		.find = find_map,
		.read = read_word,
		.ctx = p,
		.regs = words,
		.reg_mask = put_regs(regs, words),
	};
	static uint8_t stack[16384];

	in.stack_addr = regs->rsp;
	in.stack = stack;
	/* one read for most of a walk; the rest word by word */
	in.stack_size = oracle_read(p, regs->rsp, stack, sizeof(stack)) ? sizeof(stack) : 0;
	return coati_unwind(u, &in, f->v, f->max, &f->end);
}
