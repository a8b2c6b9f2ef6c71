/* SPDX-License-Identifier: MIT */
/* The walker where it was not built: it cannot be opened, and says why. */
#include <errno.h>

#include "base/error.h"
#include "bpf/walker.h"

int coati_walker_open(const struct walker_opts *opts, struct walker **ret, struct coati_error *err)
{
#if defined(__x86_64__)
	return coati_fail(err, -EOPNOTSUPP,
			  "coati was built without libbpf or clang (Debian: apt install libbpf-dev "
			  "clang, then build again)");
#else
	return coati_fail(err, -EOPNOTSUPP, "the walker knows x86-64 only");
#endif
}

void coati_walker_close(struct walker **w)
{
	*w = NULL;
}

int coati_walker_attach(struct walker *w, int event_fd, enum walker_at at)
{
	return -EOPNOTSUPP;
}

void coati_walker_run(struct walker *w, bool runs)
{
}

bool coati_walker_has_targets(const struct walker *w)
{
	return false;
}

int coati_walker_add_target(struct walker *w, enum walker_target kind, int32_t number)
{
	return -EOPNOTSUPP;
}

void coati_walker_end_target(struct walker *w, enum walker_target kind, int32_t number)
{
}

uint32_t coati_walker_ended(const struct walker *w)
{
	return 0;
}

int coati_walker_connect(struct walker *w, enum walker_output output, int32_t cpu, int fd)
{
	return -EOPNOTSUPP;
}

int coati_walker_add_table(struct walker *w, const struct table *t, struct walker_table *ret)
{
	return -EOPNOTSUPP;
}

bool coati_walker_has_table(const struct walker *w, const struct walker_table *t)
{
	return false;
}

uint64_t coati_walker_changes(const struct walker *w, uint64_t space)
{
	return 0;
}

int coati_walker_set_space(struct walker *w, uint64_t space, const struct walker_mappings *maps)
{
	return -EOPNOTSUPP;
}

void coati_walker_forget_space(struct walker *w, uint64_t space)
{
}

void coati_walker_get_stats(const struct walker *w, struct walker_stats *ret)
{
	*ret = (struct walker_stats){ 0 };
}

void coati_walker_get_memory(const struct walker *w, struct walker_memory *ret)
{
	*ret = (struct walker_memory){ 0 };
}
