/* SPDX-License-Identifier: MIT */
/*
 * BPF programs that were loaded before the recording began: for each of their functions a KSYMBOL
 * with the name that the kernel has for it, then a BPF_EVENT for the program, as the side-band
 * event tells it of those that are loaded later. Asking needs CAP_SYS_ADMIN, and addresses that are
 * hidden from us (kptr_restrict) come as none; then there is nothing to write, and that is no
 * error. A program that goes away meanwhile is left out.
 */
#include "capture/synth.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "capture/btf.h"
#include "ring/bpf-call.h"

#define PROGRAMS_MAX  16384
#define FUNCTIONS_MAX 1024
#define BTF_BYTES_MAX (16u << 20)
#define TAG_BYTES     8
#define KSYMBOL_BPF   1
#define BPF_LOADED    1

struct program {
	struct bpf_prog_info info;
	uint32_t nr; /* functions */
	uint64_t addr[FUNCTIONS_MAX];
	uint32_t len[FUNCTIONS_MAX];
	uint8_t tag[FUNCTIONS_MAX][TAG_BYTES];
	struct bpf_func_info where[FUNCTIONS_MAX];
	struct btf_func func[FUNCTIONS_MAX];
};

static uint32_t at_most(uint32_t nr)
{
	return nr < FUNCTIONS_MAX ? nr : FUNCTIONS_MAX;
}

/* First how many functions there are, then what they are. */
static int ask(int fd, struct program *p)
{
	struct bpf_prog_info size;
	uint32_t nr;
	int r;

	memset(&size, 0, sizeof(size));
	r = coati_bpf_info(fd, &size, sizeof(size));
	nr = at_most(size.nr_jited_ksyms);
	p->nr = 0;
	/* not compiled, or hidden; all tables of one program are equally long */
	if (r < 0 || !size.jited_prog_len || !nr || at_most(size.nr_jited_func_lens) != nr ||
	    at_most(size.nr_prog_tags) != nr)
		return r;
	memset(&p->info, 0, sizeof(p->info));
	memset(p->addr, 0, nr * sizeof(p->addr[0]));
	memset(p->len, 0, nr * sizeof(p->len[0]));
	p->info.nr_jited_ksyms = p->info.nr_jited_func_lens = p->info.nr_prog_tags = nr;
	p->info.jited_ksyms = (uintptr_t)p->addr;
	p->info.jited_func_lens = (uintptr_t)p->len;
	p->info.prog_tags = (uintptr_t)p->tag;
	if (size.func_info_rec_size == sizeof(p->where[0]) && size.nr_func_info == nr) {
		p->info.nr_func_info = nr;
		p->info.func_info_rec_size = sizeof(p->where[0]);
		p->info.func_info = (uintptr_t)p->where;
	}
	r = coati_bpf_info(fd, &p->info, sizeof(p->info));
	if (r == 0)
		p->nr = nr;
	return r;
}

/* The functions' own names; without them the kernel takes that of the program. */
static void name_functions(struct program *p)
{
	CLEANUP(fd_closep) int fd = -1;
	struct bpf_btf_info info;
	void *bytes;

	for (uint32_t i = 0; i < p->nr; i++)
		p->func[i] =
			(struct btf_func){ .type_id = p->info.func_info ? p->where[i].type_id : 0 };
	if (!p->info.btf_id || !p->info.func_info)
		return;
	fd = coati_bpf_open_btf(p->info.btf_id);
	memset(&info, 0, sizeof(info));
	if (fd < 0 || coati_bpf_info(fd, &info, sizeof(info)) < 0 || info.btf_size > BTF_BYTES_MAX)
		return;
	bytes = coati_alloc(info.btf_size);
	if (!bytes)
		return;
	info.btf = (uintptr_t)bytes;
	if (coati_bpf_info(fd, &info, sizeof(info)) == 0)
		(void)coati_btf_func_names(bytes, info.btf_size, p->func, p->nr);
	coati_free(bytes);
}

/* bpf_prog_TAG_NAME, or without the name where there is none: as in kallsyms. */
static int write_function(struct synth *s, const struct program *p, uint32_t i)
{
	const char *own = p->func[i].name[0] ? p->func[i].name : p->info.name;
	char name[sizeof("bpf_prog_") + 2 * TAG_BYTES + 1 + BTF_NAME_BYTES] = "bpf_prog_";
	struct coati_record rec = { .type = COATI_RECORD_KSYMBOL };
	/* the first function is the program: prog_tags has it as one that lost its callees,
	 * kallsyms has not */
	const uint8_t *tag = i ? p->tag[i] : p->info.tag;
	size_t len = strlen(name);

	if (!p->addr[i] || !p->len[i])
		return 0;
	for (int j = 0; j < TAG_BYTES; j++, len += 2)
		snprintf(name + len, sizeof(name) - len, "%02x", tag[j]);
	if (own[0])
		snprintf(name + len, sizeof(name) - len, "_%s", own);
	rec.u.ksymbol = (struct coati_ksymbol){
		.addr = p->addr[i], .len = p->len[i], .ksym_type = KSYMBOL_BPF, .name = name
	};
	return coati_synth_emit(s, &rec, 0, 0);
}

static int write_program(struct synth *s, int fd, struct program *p)
{
	struct coati_record rec = { .type = COATI_RECORD_BPF_EVENT };
	int r = ask(fd, p);

	if (r < 0 || !p->nr || !p->addr[0])
		return 0;
	p->info.name[sizeof(p->info.name) - 1] = '\0';
	name_functions(p);
	for (uint32_t i = 0; r >= 0 && i < p->nr; i++)
		r = write_function(s, p, i);
	if (r < 0)
		return r;
	rec.u.bpf_event = (struct coati_bpf_event){ .bpf_type = BPF_LOADED, .id = p->info.id };
	memcpy(rec.u.bpf_event.tag, p->info.tag, TAG_BYTES);
	return coati_synth_emit(s, &rec, 0, 0);
}

int coati_synth_bpf(struct synth *s)
{
	struct program *p = NULL;
	uint32_t id = 0;
	int r = 0;

	for (int i = 0; r >= 0 && i < PROGRAMS_MAX && coati_bpf_next_prog(id, &id) == 0; i++) {
		CLEANUP(fd_closep) int fd = coati_bpf_open_prog(id);

		if (!p)
			p = coati_alloc(sizeof(*p));
		if (!p)
			return -ENOMEM;
		r = fd < 0 ? 0 : write_program(s, fd, p);
	}
	coati_free(p);
	return r;
}
