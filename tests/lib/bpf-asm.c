/* SPDX-License-Identifier: MIT */
/* see bpf-asm.h */
#include "lib/bpf-asm.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/btf.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

static int call(int cmd, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

int bpf_asm_map(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t entries,
		uint32_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = key_size;
	attr.value_size = value_size;
	attr.max_entries = entries;
	attr.map_flags = flags;
	return call(BPF_MAP_CREATE, &attr);
}

int bpf_asm_scratch(void)
{
	return bpf_asm_map(BPF_MAP_TYPE_ARRAY, 4, BPF_ASM_SCRATCH, 1, BPF_F_MMAPABLE);
}

struct functions {
	int btf_fd;
	const struct bpf_func_info *info;
	uint32_t nr;
};

static int load(const struct bpf_insn *insns, size_t nr, const struct functions *functions,
		char *log)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = (uint32_t)nr;
	attr.license = (uintptr_t) "GPL";
	if (log) {
		attr.log_buf = (uintptr_t)log;
		attr.log_size = 4096;
		attr.log_level = 1;
	}
	if (functions) {
		attr.prog_btf_fd = (uint32_t)functions->btf_fd;
		attr.func_info_rec_size = sizeof(*functions->info);
		attr.func_info = (uintptr_t)functions->info;
		attr.func_info_cnt = functions->nr;
	}
	return call(BPF_PROG_LOAD, &attr);
}

int bpf_asm_load(const struct bpf_insn *insns, size_t nr, char *log)
{
	return load(insns, nr, NULL, log);
}

int bpf_asm_run(int prog_fd, uint32_t repeat, uint32_t *ret_value)
{
	static const uint8_t packet[64];
	union bpf_attr attr;
	int r;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)prog_fd;
	attr.test.data_in = (uintptr_t)packet;
	attr.test.data_size_in = sizeof(packet);
	attr.test.repeat = repeat;
	r = call(BPF_PROG_TEST_RUN, &attr);
	if (r >= 0 && ret_value)
		*ret_value = attr.test.retval;
	return r;
}

/* r9 = the context, r8 = the scratch value (or the program ends), its first word one more. */
#define ASM_NUMBER(scratch_fd)                                                                    \
	ASM_MOV(9, 1), ASM_STORE32(10, -4, 0), ASM_MOV(2, 10), ASM_ADD_IMM(2, -4),                \
		ASM_MAP(1, scratch_fd), ASM_CALL(BPF_FUNC_map_lookup_elem), ASM_JNE_IMM(0, 0, 1), \
		ASM_EXIT(), ASM_MOV(8, 0), ASM_MOV_IMM(1, 1), ASM_ATOMIC_ADD(8, 0, 1)

int bpf_asm_perf_output(int events_fd, int scratch_fd, uint32_t size)
{
	const struct bpf_insn insns[] = {
		ASM_NUMBER(scratch_fd),
		ASM_MOV(1, 9),
		ASM_MAP(2, events_fd),
		ASM_MOV32_IMM(3, -1), /* BPF_F_CURRENT_CPU: 32 bits */
		ASM_MOV(4, 8),
		ASM_MOV_IMM(5, (int)size),
		ASM_CALL(BPF_FUNC_perf_event_output),
		ASM_EXIT(),
	};

	return load(insns, NR(insns), NULL, NULL);
}

int bpf_asm_ring_output(int ring_fd, int scratch_fd, int drops_fd, uint32_t size, uint32_t flags)
{
	const struct bpf_insn insns[] = {
		ASM_NUMBER(scratch_fd),
		ASM_MAP(1, ring_fd),
		ASM_MOV(2, 8),
		ASM_MOV_IMM(3, (int)size),
		ASM_MOV_IMM(4, (int)flags),
		ASM_CALL(BPF_FUNC_ringbuf_output),
		ASM_JNE_IMM(0, 0, 1),
		ASM_EXIT(),
		/* no room: count it */
		ASM_MOV(7, 0),
		ASM_STORE32(10, -4, 0),
		ASM_MOV(2, 10),
		ASM_ADD_IMM(2, -4),
		ASM_MAP(1, drops_fd >= 0 ? drops_fd : scratch_fd),
		ASM_CALL(BPF_FUNC_map_lookup_elem),
		ASM_JEQ_IMM(0, 0, 2),
		ASM_MOV_IMM(1, 1),
		ASM_ATOMIC_ADD(0, drops_fd >= 0 ? 0 : 8, 1),
		ASM_MOV(0, 7),
		ASM_EXIT(),
	};

	return load(insns, NR(insns), NULL, NULL);
}

int bpf_asm_ring_reserve(int ring_fd, uint32_t size, int discard)
{
	const struct bpf_insn insns[] = {
		ASM_MAP(1, ring_fd),
		ASM_MOV_IMM(2, (int)size),
		ASM_MOV_IMM(3, 0),
		ASM_CALL(BPF_FUNC_ringbuf_reserve),
		ASM_JNE_IMM(0, 0, 2),
		ASM_MOV_IMM(0, 1),
		ASM_EXIT(),
		ASM_INSN(BPF_ST | BPF_MEM | BPF_B, 0, 0, 0, 7),
		ASM_MOV(1, 0),
		ASM_MOV_IMM(2, 0),
		ASM_CALL(discard ? BPF_FUNC_ringbuf_discard : BPF_FUNC_ringbuf_submit),
		ASM_MOV_IMM(0, 0),
		ASM_EXIT(),
	};

	return load(insns, NR(insns), NULL, NULL);
}

/* The verifier takes a callback only when BTF calls it a static function: "int main(int)" and
 * "static int each(int)". */
static int load_btf(void)
{
	static const struct {
		struct btf_header header;
		uint32_t integer[4], proto[3 + 2], main_fn[3], each_fn[3];
		char strings[24];
	} btf = {
		.header = { .magic = BTF_MAGIC,
			    .version = BTF_VERSION,
			    .hdr_len = sizeof(struct btf_header),
			    .type_off = 0,
			    .type_len = sizeof(uint32_t) * (4 + 5 + 3 + 3),
			    .str_off = sizeof(uint32_t) * (4 + 5 + 3 + 3),
			    .str_len = 24 },
		.integer = { 1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32 },
		.proto = { 0, BTF_KIND_FUNC_PROTO << 24 | 1, 1, 5, 1 },
		.main_fn = { 9, (uint32_t)BTF_KIND_FUNC << 24 | BTF_FUNC_GLOBAL, 2 },
		.each_fn = { 14, (uint32_t)BTF_KIND_FUNC << 24 | BTF_FUNC_STATIC, 2 },
		.strings = "\0int\0arg\0main\0each",
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.btf = (uintptr_t)&btf;
	attr.btf_size = sizeof(btf);
	return call(BPF_BTF_LOAD, &attr);
}

int bpf_asm_user_drain(int ring_fd, int scratch_fd)
{
	const struct bpf_insn insns[] = {
		ASM_MAP(1, ring_fd),
		ASM_FUNC(2, 5),
		ASM_MOV_IMM(3, 0),
		ASM_MOV_IMM(4, 0),
		ASM_CALL(BPF_FUNC_user_ringbuf_drain),
		ASM_EXIT(),
		/* each(dynptr, ctx): read 8 bytes to the stack, add them to the scratch */
		ASM_MOV(3, 1),
		ASM_MOV(1, 10),
		ASM_ADD_IMM(1, -16),
		ASM_MOV_IMM(2, 8),
		ASM_MOV_IMM(4, 0),
		ASM_MOV_IMM(5, 0),
		ASM_CALL(BPF_FUNC_dynptr_read),
		ASM_STORE32(10, -4, 0),
		ASM_MOV(2, 10),
		ASM_ADD_IMM(2, -4),
		ASM_MAP(1, scratch_fd),
		ASM_CALL(BPF_FUNC_map_lookup_elem),
		ASM_JEQ_IMM(0, 0, 2),
		ASM_LOAD64(1, 10, -16),
		ASM_ATOMIC_ADD(0, 0, 1),
		ASM_MOV_IMM(0, 0),
		ASM_EXIT(),
	};
	struct bpf_func_info info[] = { { 0, 3 }, { 8, 4 } };
	struct functions functions = { load_btf(), info, 2 };
	int r;

	if (functions.btf_fd < 0)
		return functions.btf_fd;
	r = load(insns, NR(insns), &functions, NULL);
	close(functions.btf_fd);
	return r;
}
