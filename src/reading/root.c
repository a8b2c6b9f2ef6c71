/* SPDX-License-Identifier: MIT */
/*
 * Does a stack reach its root? Who walks by frame pointers stops where they end, and does not know
 * whether that is the beginning of the thread or code that keeps none. The name of the outermost
 * function tells: threads and programs begin in a few known places.
 */
#include <string.h>

#include "reading/parts.h"
#include "reading/profile.h"

static const char *const roots[] = {
	/* programs: their entry, and what of libc calls main() */
	"_start", "_dl_start", "_dl_start_user", "__libc_start_call_main", "__libc_start_main",
	"__libc_start_main_impl", "__libc_init", "_start_c", "libc_start_main_stage2",
	/* threads */
	"start_thread", "__start_thread", "clone", "clone3", "__clone", "__clone3",
	/* Go */
	"runtime.goexit", "runtime.goexit.abi0", "runtime.mstart", "runtime.mstart.abi0",
	"runtime.mcall", "runtime.mcall.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0",
	"_rt0_amd64", "_rt0_amd64_linux", "_rt0_arm64_linux"
};

/* The function that holds the place, not one that was inlined into it. NULL: not known (yet). */
static const char *function_of(const struct coati_profile *p, uint32_t location)
{
	const struct coati_profile_location *l = &p->locations.v[location].pub;

	return l->nr_names ? l->names[l->nr_names - 1].function : NULL;
}

bool coati_profile_ends_in_root(const struct coati_profile *p, const struct coati_profile_stack *s)
{
	uint32_t last = s->locations[s->nr - 1];
	const char *name = function_of(p, last);

	if (p->locations.v[last].pub.flags)
		return false;
	for (size_t i = 0; name && i < sizeof(roots) / sizeof(*roots); i++)
		if (!strcmp(name, roots[i]))
			return true;
	/* who calls main() has no symbol in most files of libc */
	name = s->nr > 1 ? function_of(p, s->locations[s->nr - 2]) : NULL;
	return name && !strcmp(name, "main");
}

bool coati_profile_has_root(const struct coati_profile *p, const struct coati_profile_stack *s)
{
	/* the kernel walks its own stack by tables, and knows where that begins */
	return p->locations.v[s->locations[s->nr - 1]].pub.flags ||
	       coati_profile_ends_in_root(p, s);
}
