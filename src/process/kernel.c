/* SPDX-License-Identifier: MIT */
/*
 * The kernel's addresses: one mapping of itself ("[kernel.kallsyms]_text", its pgoff is where that
 * symbol was), one for each module, and BPF programs and trampolines that come and go. The mapping
 * of the kernel reaches as far as the tool that wrote it could tell, often over the modules: it
 * lies below all others.
 */
#include <errno.h>
#include <string.h>

#include "image/image.h"
#include "process/processes.h"

#define KERNEL_NAME	"[kernel"
#define KERNEL_MAPS_MAX 64
#define KSYMBOL_BPF	1
#define KSYMBOL_GONE	1

static int add(struct coati_processes *ps, const struct origin *o, struct range *r)
{
	int code = coati_origin_get(ps, o, &r->id);

	ps->stats.refused += code == -E2BIG;
	if (code < 0)
		return code == -ENOMEM ? code : 0;
	return coati_pid_map(ps, &ps->kernel, r);
}

int coati_kernel_map(struct coati_processes *ps, const struct coati_mmap *m, uint64_t time)
{
	bool is_kernel = !strncmp(m->name, KERNEL_NAME, strlen(KERNEL_NAME));
	struct origin o = { .kind = is_kernel ? ORIGIN_KERNEL : ORIGIN_MODULE, .path = m->name };
	struct range r = { .start = m->addr, .offset = m->pgoff, .time = time, .bits = m->prot };
	int code;

	if (!m->len) {
		ps->stats.refused++;
		return 0;
	}
	if (__builtin_add_overflow(m->addr, m->len, &r.end))
		r.end = UINT64_MAX;
	if (!is_kernel)
		return add(ps, &o, &r);
	if (ps->nr_kernel_maps >= KERNEL_MAPS_MAX) {
		ps->stats.refused++;
		return 0;
	}
	code = coati_origin_get(ps, &o, &r.id);
	if (code < 0)
		return code == -ENOMEM ? code : 0;
	r.time = 0;
	ps->nr_kernel_maps++;
	ps->nr_mappings++;
	ps->stats.mappings++;
	ps->kernel.to = 0;
	ps->kernel.spans.v[0].space->epoch = ps->next_epoch++;
	return coati_ranges_put_below(&ps->kernel.spans.v[0].space->ranges, &r, 1);
}

int coati_kernel_image(struct coati_processes *ps, uint32_t *ret)
{
	struct origin o = { .kind = ORIGIN_KERNEL, .path = "[kernel.kallsyms]" };
	struct origin_image oi;
	uint32_t origin;
	int r = coati_origin_get(ps, &o, &origin);

	r = r < 0 ? r : coati_origin_image(ps, origin, &oi);
	if (r == 0)
		*ret = oi.image;
	return r;
}

int coati_kernel_symbol(struct coati_processes *ps, const struct coati_ksymbol *k, uint64_t time)
{
	bool is_bpf = k->ksym_type == KSYMBOL_BPF;
	struct origin o = { .kind = is_bpf ? ORIGIN_BPF : ORIGIN_KERNEL,
			    .path = is_bpf ? "[bpf]" : "[kernel.kallsyms]" };
	struct range r = { .start = k->addr, .offset = k->addr, .time = time };
	struct origin_image oi;
	int code;

	if (!k->len || __builtin_add_overflow(k->addr, k->len, &r.end)) {
		ps->stats.refused++;
		return 0;
	}
	if (k->flags & KSYMBOL_GONE) {
		r.id = RANGE_HOLE;
		return coati_pid_map(ps, &ps->kernel, &r);
	}
	code = coati_origin_get(ps, &o, &r.id);
	code = code < 0 ? code : coati_origin_image(ps, r.id, &oi);
	if (code == 0)
		code = coati_image_add_symbol(
			ps->images, oi.image,
			&(struct image_symbol){ k->addr, k->len, k->name, time });
	ps->stats.refused += code < 0 && code != -ENOMEM;
	if (code < 0)
		return code == -ENOMEM ? code : 0;
	return coati_pid_map(ps, &ps->kernel, &r);
}
