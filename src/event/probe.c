/* SPDX-License-Identifier: MIT */
/*
 * A probe as it was typed comes in; attributes for the uprobe or kprobe PMU go out, one set for
 * each place. The kernel takes the offset of an instruction in a file and answers a wrong one with
 * silence: it is never hit. So every place is checked to lie in code that is mapped from that file.
 */
#include "event/probe.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/elf.h"
#include "base/error.h"
#include "base/match.h"
#include "event/probe-file.h"
#include "event/probe-kernel.h"
#include "event/probe-pmu.h"
#include "event/probe-symbol.h"
#include "event/probe-usdt.h"

/* What is known while one spec is resolved. */
struct resolver {
	const struct probe_spec *spec;
	struct arena *arena;
	struct coati_error *err;
	struct probe_pmu pmu;
	const char *path; /* in the arena: the attributes point to it */
	struct probe_site *sites;
	uint32_t nr_sites;
};

static int fail_memory(struct coati_error *err)
{
	return coati_fail(err, -ENOMEM, "out of memory for a probe");
}

/* Open the file for its symbols. A 32-bit one can only be probed by offset: ret->size stays 0
 * then. */
static int open_file(struct resolver *r, struct elf *ret)
{
	const struct probe_spec *spec = r->spec;
	int e = coati_elf_open(r->path, ret, r->err);

	if (e == -EOPNOTSUPP && !spec->symbol && !spec->name)
		return 0;
	if (e == -EOPNOTSUPP)
		return coati_fail(r->err, e, "%s is a 32-bit file: probe it by offset (0xOFFSET)",
				  r->path);
	if (e < 0)
		return e;
	if (ret->machine != PROBE_MACHINE)
		return coati_fail(r->err, -EOPNOTSUPP, "%s is for another CPU than this one",
				  r->path);
	return 0;
}

/* Fill in the next site. */
static int add_user_site(struct resolver *r, uint64_t offset, uint64_t semaphore, const char *text)
{
	struct probe_site *site = &r->sites[r->nr_sites];
	struct coati_attr *attr = &site->attr;

	if (!text)
		return fail_memory(r->err);
	attr->type = r->pmu.type;
	attr->config1 = (uintptr_t)r->path;
	attr->config2 = offset;
	if (coati_probe_pmu_set(&r->pmu.retprobe, r->spec->is_return, attr) < 0)
		return coati_fail(r->err, -EOPNOTSUPP, "this kernel has no return probes");
	if (semaphore && !r->pmu.ref_ctr.mask)
		return coati_fail(
			r->err, -EOPNOTSUPP,
			"%s is switched on by a semaphore, which this kernel cannot do (Linux "
			"4.20)",
			text);
	if (coati_probe_pmu_set(&r->pmu.ref_ctr, semaphore, attr) < 0)
		return coati_fail(r->err, -EOPNOTSUPP,
				  "the semaphore of %s lies too far behind in the file", text);
	site->text = text;
	r->nr_sites++;
	return 0;
}

/* The segment of code at @vaddr, or a sentence about @what. */
static int find_code(const struct resolver *r, const struct elf *e, uint64_t vaddr,
		     const char *what, struct elf_segment *ret)
{
	int x = coati_elf_segment_at(e, vaddr, ret);

	if (x == -ENOENT)
		return coati_fail(r->err, -EINVAL,
				  "%s is not mapped from %s: neither a program nor a library", what,
				  r->path);
	if (x < 0)
		return coati_fail(r->err, x, "the segments of %s are damaged", r->path);
	if (!(ret->flags & PF_X))
		return coati_fail(r->err, -EINVAL, "%s in %s is not code", what, r->path);
	return 0;
}

/* Is symbol + offset inside of the function, of which @start is the offset in the file and @room
 * the bytes up to the end of its segment? */
static int check_inside(const struct resolver *r, const struct probe_symbol *sym, uint64_t start,
			uint64_t room)
{
	const struct probe_spec *spec = r->spec;
	unsigned long long offset = spec->offset;

	if (offset && spec->is_return)
		return coati_fail(r->err, -EINVAL,
				  "a return probe belongs to the start of %s: leave out the offset",
				  spec->symbol);
	if (!offset || (offset < sym->size && offset < room))
		return 0;
	if (!sym->size)
		return coati_fail(
			r->err, -EINVAL,
			"the size of %s is unknown: give the offset in the file, counted from "
			"0x%llx",
			spec->symbol, (unsigned long long)start);
	return coati_fail(r->err, -EINVAL,
			  "%s+0x%llx is outside of the function, which has 0x%llx bytes",
			  spec->symbol, offset, (unsigned long long)sym->size);
}

/* The offset of symbol + offset in the file. */
static int find_function(const struct resolver *r, const struct elf *e, uint64_t *ret_offset)
{
	const struct probe_spec *spec = r->spec;
	struct probe_file file = { .elf = e, .path = r->path, .debug_dir = PROBE_DEBUG_DIR };
	struct probe_symbol sym;
	struct elf_segment seg;
	uint64_t start;
	int x;

	x = coati_probe_symbol_find(&file, spec->symbol, &sym, r->err);
	if (x >= 0)
		x = find_code(r, e, sym.vaddr, spec->symbol, &seg);
	if (x < 0)
		return x;
	start = sym.vaddr - seg.vaddr + seg.offset;
	x = check_inside(r, &sym, start, seg.filesz - (sym.vaddr - seg.vaddr));
	if (x < 0)
		return x;
	*ret_offset = start + spec->offset;
	return 0;
}

/* Is the offset that was typed in code? */
static int check_offset(const struct resolver *r, const struct elf *e)
{
	uint64_t offset = r->spec->offset;

	if (!e->size)
		return 0; /* a 32-bit file: the kernel has the last word */
	for (uint32_t i = 0; i < e->phnum; i++) {
		struct elf_segment s;

		if (coati_elf_segment(e, i, &s) < 0)
			return coati_fail(r->err, -EBADMSG, "the segments of %s are damaged",
					  r->path);
		if (s.type == PT_LOAD && (s.flags & PF_X) && offset >= s.offset &&
		    offset - s.offset < s.filesz && offset < e->size)
			return 0;
	}
	return coati_fail(
		r->err, -EINVAL,
		"offset 0x%llx of %s is not code (it is an offset in the file, not an address)",
		(unsigned long long)offset, r->path);
}

static int resolve_function(struct resolver *r, const struct elf *e)
{
	const struct probe_spec *spec = r->spec;
	uint64_t offset = spec->offset;
	const char *text;
	int x = spec->symbol ? find_function(r, e, &offset) : check_offset(r, e);

	if (x < 0)
		return x;
	r->sites = coati_arena_alloc(r->arena, sizeof(*r->sites));
	if (!r->sites)
		return fail_memory(r->err);
	if (spec->symbol)
		text = coati_arena_printf(r->arena, "%s:%s+0x%llx", r->path, spec->symbol,
					  (unsigned long long)spec->offset);
	else
		text = coati_arena_printf(r->arena, "%s:0x%llx", r->path,
					  (unsigned long long)offset);
	return add_user_site(r, offset, 0, text);
}

static bool is_wanted(const struct probe_spec *spec, const struct probe_usdt *u)
{
	return !strcmp(u->provider, spec->provider) && !strcmp(u->name, spec->name);
}

/* No such probe: offer a name of that provider, or a provider that has a name like it. */
static int fail_no_usdt(const struct resolver *r, const struct elf *e)
{
	const struct probe_spec *spec = r->spec;
	struct nearest name = coati_nearest_to(spec->name);
	struct nearest provider = coati_nearest_to(spec->provider);
	struct probe_usdt_walk w;
	struct probe_usdt u;
	bool any = false, known = false;

	if (coati_probe_usdt_begin(e, &w) < 0)
		return coati_fail(r->err, -EBADMSG, "the notes of %s are damaged", r->path);
	while (coati_probe_usdt_next(&w, &u) > 0) {
		any = true;
		known |= !strcmp(u.provider, spec->provider);
		coati_nearest_offer(&provider, u.provider);
		if (!strcmp(u.provider, spec->provider))
			coati_nearest_offer(&name, u.name);
	}
	if (!any)
		return coati_fail(r->err, -ENOENT, "%s has no USDT probes", r->path);
	if (known && name.best)
		return coati_fail(r->err, -ENOENT, "no probe %s:%s in %s; did you mean %s:%s?",
				  spec->provider, spec->name, r->path, spec->provider, name.best);
	if (!known && provider.best)
		return coati_fail(r->err, -ENOENT,
				  "no probes of provider %s in %s; did you mean %s?",
				  spec->provider, r->path, provider.best);
	return coati_fail(r->err, -ENOENT, "no probe %s:%s in %s (readelf -n %s lists its probes)",
			  spec->provider, spec->name, r->path, r->path);
}

/* How many notes match; more than the limit is an error. */
static int count_usdt(const struct resolver *r, const struct elf *e, uint32_t *ret)
{
	struct probe_usdt_walk w;
	struct probe_usdt u;
	uint32_t nr = 0;
	int x = coati_probe_usdt_begin(e, &w);

	if (x >= 0)
		while ((x = coati_probe_usdt_next(&w, &u)) > 0)
			nr += is_wanted(r->spec, &u) && nr <= PROBE_SITES_MAX;
	if (x < 0)
		return coati_fail(r->err, x, "the notes of %s are damaged", r->path);
	if (nr > PROBE_SITES_MAX)
		return coati_fail(r->err, -E2BIG, "%s:%s in %s has more than %d places",
				  r->spec->provider, r->spec->name, r->path, PROBE_SITES_MAX);
	*ret = nr;
	return 0;
}

static int add_usdt(struct resolver *r, const struct elf *e, const struct probe_usdt *u)
{
	struct elf_segment seg;
	uint64_t offset, semaphore = 0;
	const char *text = coati_arena_printf(r->arena, "%s:%s:%s@0x%llx", r->path, u->provider,
					      u->name, (unsigned long long)u->vaddr);
	int x;

	if (!text)
		return fail_memory(r->err);
	x = find_code(r, e, u->vaddr, text, &seg);
	if (x < 0)
		return x;
	offset = u->vaddr - seg.vaddr + seg.offset;
	/* two notes for one instruction are one place */
	for (uint32_t i = 0; i < r->nr_sites; i++)
		if (r->sites[i].attr.config2 == offset)
			return 0;
	if (u->semaphore) {
		x = coati_elf_vaddr_to_offset(e, u->semaphore, &semaphore);
		if (x < 0)
			return coati_fail(r->err, -EBADMSG,
					  "the semaphore of %s is not in the file", text);
	}
	return add_user_site(r, offset, semaphore, text);
}

static int resolve_usdt(struct resolver *r, const struct elf *e)
{
	struct probe_usdt_walk w;
	struct probe_usdt u;
	uint32_t nr = 0;
	int x = count_usdt(r, e, &nr);

	if (x < 0)
		return x;
	if (!nr)
		return fail_no_usdt(r, e);
	r->sites = coati_arena_alloc(r->arena, nr * sizeof(*r->sites));
	if (!r->sites)
		return fail_memory(r->err);
	coati_probe_usdt_begin(e, &w);
	while (coati_probe_usdt_next(&w, &u) > 0) {
		/* the count again: the file may have changed since */
		if (!is_wanted(r->spec, &u) || r->nr_sites == nr)
			continue;
		x = add_usdt(r, e, &u);
		if (x < 0)
			return x;
	}
	if (!r->nr_sites)
		return coati_fail(r->err, -EBADMSG, "%s changes while it is read", r->path);
	return 0;
}

static int resolve_user(struct resolver *r, const char *sysfs)
{
	CLEANUP(coati_elf_close) struct elf e = { 0 };
	char path[PATH_MAX];
	int x = coati_probe_pmu_read(sysfs, "uprobe", &r->pmu, r->err);

	if (x >= 0)
		x = coati_probe_file_find(r->spec->path, path, r->err);
	if (x < 0)
		return x;
	r->path = coati_arena_strdup(r->arena, path);
	if (!r->path)
		return fail_memory(r->err);
	x = open_file(r, &e);
	if (x < 0)
		return x;
	return r->spec->name ? resolve_usdt(r, &e) : resolve_function(r, &e);
}

static int check_kernel_spec(const struct resolver *r)
{
	const struct probe_spec *spec = r->spec;

	if (!spec->symbol && !spec->offset)
		return coati_fail(r->err, -EINVAL, "a function or an address is missing");
	if (!spec->symbol)
		return 0;
	if (!*spec->symbol)
		return coati_fail(r->err, -EINVAL, "the name of a kernel function is missing");
	if (spec->is_return && spec->offset)
		return coati_fail(r->err, -EINVAL,
				  "a return probe belongs to the start of %s: leave out the offset",
				  spec->symbol);
	return coati_probe_kernel_check("/proc/kallsyms", spec->symbol, r->err);
}

static int resolve_kernel(struct resolver *r, const char *sysfs)
{
	const struct probe_spec *spec = r->spec;
	struct probe_site *site;
	int x = coati_probe_pmu_read(sysfs, "kprobe", &r->pmu, r->err);

	if (x >= 0)
		x = check_kernel_spec(r);
	if (x < 0)
		return x;
	r->sites = site = coati_arena_alloc(r->arena, sizeof(*site));
	if (!site)
		return fail_memory(r->err);
	site->attr.type = r->pmu.type;
	site->attr.config2 = spec->offset;
	if (coati_probe_pmu_set(&r->pmu.retprobe, spec->is_return, &site->attr) < 0)
		return coati_fail(r->err, -EOPNOTSUPP, "this kernel has no return probes");
	if (spec->symbol) {
		const char *name = coati_arena_strdup(r->arena, spec->symbol);

		site->attr.config1 = (uintptr_t)name;
		site->text = name ? coati_arena_printf(r->arena, "%s+0x%llx", name,
						       (unsigned long long)spec->offset)
				  : NULL;
	} else {
		site->text =
			coati_arena_printf(r->arena, "0x%llx", (unsigned long long)spec->offset);
	}
	if (!site->text)
		return fail_memory(r->err);
	r->nr_sites = 1;
	return 0;
}

/* What must hold whatever the file says. */
static int check_user_spec(const struct probe_spec *spec, struct coati_error *err)
{
	if (!spec->path)
		return coati_fail(err, -EINVAL, "the path of a program or library is missing");
	if (spec->symbol && !*spec->symbol)
		return coati_fail(err, -EINVAL, "the name of a function is missing");
	if (!spec->name)
		return 0;
	if (!spec->provider || !*spec->provider || !*spec->name)
		return coati_fail(err, -EINVAL, "a USDT probe is path:provider:name");
	if (spec->is_return || spec->symbol || spec->offset)
		return coati_fail(err, -EINVAL,
				  "a USDT probe has neither an offset nor a return probe");
	return 0;
}

int coati_probe_resolve(const struct probe_spec *spec, const char *sysfs, struct arena *arena,
			struct probe_site **ret_sites, struct coati_error *err)
{
	struct resolver r = { .spec = spec, .arena = arena, .err = err };
	int x;

	if (spec->kernel) {
		x = resolve_kernel(&r, sysfs);
	} else {
		x = check_user_spec(spec, err);
		if (x >= 0)
			x = resolve_user(&r, sysfs);
	}
	if (x < 0)
		return x;
	*ret_sites = r.sites;
	return (int)r.nr_sites; /* at most PROBE_SITES_MAX */
}
