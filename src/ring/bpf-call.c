/* SPDX-License-Identifier: MIT */
/* bpf(2) with zeroed attributes of exactly the size that each command needs; old kernels take them too. */
#include "ring/bpf-call.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call(enum bpf_cmd cmd, union bpf_attr *attr, size_t size)
{
	return syscall(SYS_bpf, cmd, attr, size) < 0 ? -errno : 0;
}

int coati_bpf_map_info(int map_fd, struct coati_bpf_map_info *ret)
{
	struct bpf_map_info info;
	union bpf_attr attr;
	int r;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)map_fd;
	attr.info.info = (uintptr_t)&info;
	attr.info.info_len = sizeof(info);
	r = call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr.info));
	if (r < 0)
		return r;
	*ret = (struct coati_bpf_map_info){ info.type, info.key_size, info.value_size,
					    info.max_entries, info.map_flags };
	return 0;
}

static int element(enum bpf_cmd cmd, int map_fd, const uint32_t *key, uintptr_t value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map_fd;
	attr.key = (uintptr_t)key;
	attr.value = value;
	return call(cmd, &attr, offsetof(union bpf_attr, flags) + sizeof(attr.flags));
}

int coati_bpf_map_lookup(int map_fd, uint32_t key, void *ret_value)
{
	return element(BPF_MAP_LOOKUP_ELEM, map_fd, &key, (uintptr_t)ret_value);
}

int coati_bpf_map_update(int map_fd, uint32_t key, const void *value)
{
	return element(BPF_MAP_UPDATE_ELEM, map_fd, &key, (uintptr_t)value);
}

int coati_bpf_map_delete(int map_fd, uint32_t key)
{
	return element(BPF_MAP_DELETE_ELEM, map_fd, &key, 0);
}
