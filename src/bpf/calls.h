/* SPDX-License-Identifier: MIT */
/* The calls of libbpf that the walker needs, found when the walker is opened. */
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <coati/error.h>

struct libbpf {
	__typeof__(&libbpf_set_print) set_print;
	__typeof__(&bpf_object__open_mem) open_mem;
	__typeof__(&bpf_object__load) load;
	__typeof__(&bpf_object__close) close;
	__typeof__(&bpf_object__find_map_by_name) find_map;
	__typeof__(&bpf_object__find_program_by_name) find_program;
	__typeof__(&bpf_program__fd) program_fd;
	__typeof__(&bpf_program__set_autoload) set_autoload;
	__typeof__(&bpf_program__attach) attach;
	__typeof__(&bpf_link__destroy) link_destroy;
	__typeof__(&bpf_map__fd) map_fd;
	__typeof__(&bpf_map__set_max_entries) set_max_entries;
	__typeof__(&bpf_map__set_initial_value) set_initial_value;
	__typeof__(&bpf_map__initial_value) initial_value;
	__typeof__(&bpf_map_create) map_create;
	__typeof__(&bpf_map_update_elem) map_update;
	__typeof__(&bpf_map_delete_elem) map_delete;
	__typeof__(&bpf_map_lookup_and_delete_elem) map_take;
	__typeof__(&bpf_obj_get_info_by_fd) get_info;
};

int coati_libbpf_load(struct libbpf *ret, struct coati_error *err);
