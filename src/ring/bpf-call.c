/* SPDX-License-Identifier: MIT */
/* bpf(2) with zeroed attributes of exactly the size that each command needs; old kernels take them
 * too. */
#include "ring/bpf-call.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call(enum bpf_cmd cmd, union bpf_attr *attr, size_t size)
{
	long r = syscall(SYS_bpf, cmd, attr, size);

	return r < 0 ? -errno : (int)r;
}

int coati_bpf_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info = (uintptr_t)info;
	attr.info.info_len = size;
	return call(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr.info));
}

int coati_bpf_map_info(int map_fd, struct coati_bpf_map_info *ret)
{
	struct bpf_map_info info;
	int r;

	memset(&info, 0, sizeof(info));
	r = coati_bpf_info(map_fd, &info, sizeof(info));
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

/* The number is the first word of all of these; what else they have stays zero. */
static int by_id(enum bpf_cmd cmd, uint32_t id, uint32_t *ret_next)
{
	union bpf_attr attr;
	int r;

	memset(&attr, 0, sizeof(attr));
	attr.start_id = id;
	r = call(cmd, &attr, offsetof(union bpf_attr, open_flags) + sizeof(attr.open_flags));
	if (r == 0 && ret_next)
		*ret_next = attr.next_id;
	return r;
}

int coati_bpf_next_prog(uint32_t id, uint32_t *ret)
{
	return by_id(BPF_PROG_GET_NEXT_ID, id, ret);
}

int coati_bpf_open_prog(uint32_t id)
{
	return by_id(BPF_PROG_GET_FD_BY_ID, id, NULL);
}

int coati_bpf_open_btf(uint32_t id)
{
	return by_id(BPF_BTF_GET_FD_BY_ID, id, NULL);
}
