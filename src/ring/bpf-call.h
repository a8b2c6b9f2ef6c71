/* SPDX-License-Identifier: MIT */
/*
 * The bpf system call, as far as rings and captures need it: what a map is, its elements, the
 * programs that are loaded. No libbpf.
 */
#pragma once

#include <stdint.h>

struct coati_bpf_map_info {
	uint32_t type, key_size, value_size, max_entries, flags;
};

/* All: 0 or negative errno. Keys are 32-bit indexes. */
int coati_bpf_map_info(int map_fd, struct coati_bpf_map_info *ret);
int coati_bpf_map_lookup(int map_fd, uint32_t key, void *ret_value);
int coati_bpf_map_update(int map_fd, uint32_t key, const void *value);
int coati_bpf_map_delete(int map_fd, uint32_t key);

/* The number of the next program after @id (0: the first): 0, or -ENOENT after the last, -EPERM
 * without CAP_SYS_ADMIN. */
int coati_bpf_next_prog(uint32_t id, uint32_t *ret);
/* A descriptor, or negative errno. */
int coati_bpf_open_prog(uint32_t id);
int coati_bpf_open_btf(uint32_t id);
/* About the map, program or BTF behind @fd: @info is a struct bpf_*_info of @size bytes, and also
 * tells where lists go. */
int coati_bpf_info(int fd, void *info, uint32_t size);
