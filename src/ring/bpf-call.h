/* SPDX-License-Identifier: MIT */
/* The bpf system call, as far as rings need it: what a map is, and its elements. No libbpf. */
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
