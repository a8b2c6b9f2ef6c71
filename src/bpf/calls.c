/* SPDX-License-Identifier: MIT */
/* see calls.h */
#include "bpf/calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

#define LIBRARY "libbpf.so.1"

struct call {
	const char *name;
	size_t at; /* in struct libbpf */
};

#define CALL(field, function)                             \
	{                                                 \
#function, offsetof(struct libbpf, field) \
	}

static const struct call calls[] = {
	CALL(set_print, libbpf_set_print),
	CALL(open_mem, bpf_object__open_mem),
	CALL(load, bpf_object__load),
	CALL(close, bpf_object__close),
	CALL(find_map, bpf_object__find_map_by_name),
	CALL(find_program, bpf_object__find_program_by_name),
	CALL(program_fd, bpf_program__fd),
	CALL(set_autoload, bpf_program__set_autoload),
	CALL(attach, bpf_program__attach),
	CALL(link_destroy, bpf_link__destroy),
	CALL(map_fd, bpf_map__fd),
	CALL(set_max_entries, bpf_map__set_max_entries),
	CALL(set_initial_value, bpf_map__set_initial_value),
	CALL(initial_value, bpf_map__initial_value),
	CALL(map_create, bpf_map_create),
	CALL(map_update, bpf_map_update_elem),
	CALL(map_delete, bpf_map_delete_elem),
	CALL(map_take, bpf_map_lookup_and_delete_elem),
	CALL(get_info, bpf_obj_get_info_by_fd),
};

int coati_libbpf_load(struct libbpf *ret, struct coati_error *err)
{
	/* never closed: other walkers may be in use */
	void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return coati_fail(err, -EOPNOTSUPP,
				  LIBRARY " is not installed (Debian: apt install libbpf1)");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *found = dlsym(lib, calls[i].name);

		if (!found)
			return coati_fail(err, -EOPNOTSUPP,
					  LIBRARY " has no %s; 1.0 or newer is needed",
					  calls[i].name);
		memcpy((char *)ret + calls[i].at, &found, sizeof(found));
	}
	return 0;
}
