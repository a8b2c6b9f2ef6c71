/* SPDX-License-Identifier: MIT */
/*
 * BPF programs without a compiler: instructions as macros, maps, loading and running through the
 * bare system call. And the programs that tests and benchmarks of rings share: each numbers its
 * records in the first 8 bytes of a scratch array, so that what was produced can be known without
 * trusting the ring.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>

#define ASM_INSN(op, d, s, o, i) \
	((struct bpf_insn){ .code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define ASM_MOV(d, s)		ASM_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define ASM_MOV_IMM(d, i)	ASM_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ASM_MOV32_IMM(d, i)	ASM_INSN(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
#define ASM_ADD_IMM(d, i)	ASM_INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define ASM_STORE32(d, o, i)	ASM_INSN(BPF_ST | BPF_MEM | BPF_W, d, 0, o, i)
#define ASM_STORE64(d, o, s)	ASM_INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define ASM_LOAD64(d, s, o)	ASM_INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define ASM_ATOMIC_ADD(d, o, s) ASM_INSN(BPF_STX | BPF_ATOMIC | BPF_DW, d, s, o, BPF_ADD)
#define ASM_JNE_IMM(d, i, o)	ASM_INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define ASM_JEQ_IMM(d, i, o)	ASM_INSN(BPF_JMP | BPF_JEQ | BPF_K, d, 0, o, i)
#define ASM_CALL(fn)		ASM_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, fn)
#define ASM_EXIT()		ASM_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Two instructions: the address of a map; of a function, @i instructions from the next. */
#define ASM_MAP(d, fd) \
	ASM_INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_MAP_FD, 0, fd), ASM_INSN(0, 0, 0, 0, 0)
#define ASM_FUNC(d, i) \
	ASM_INSN(BPF_LD | BPF_DW | BPF_IMM, d, BPF_PSEUDO_FUNC, 0, i), ASM_INSN(0, 0, 0, 0, 0)

#define BPF_ASM_SCRATCH (128u * 1024)

/* All return a descriptor, or negative errno. */
int bpf_asm_map(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t entries,
		uint32_t flags);
/* An array of one value of BPF_ASM_SCRATCH bytes, which can be mapped. */
int bpf_asm_scratch(void);
/* A classifier. @log (4096 bytes, may be NULL): what the verifier said. */
int bpf_asm_load(const struct bpf_insn *insns, size_t nr, char *log);
/* Run it @repeat times in the kernel on this CPU; the last return value. */
int bpf_asm_run(int prog_fd, uint32_t repeat, uint32_t *ret_value);

/* Numbers a record in @scratch and puts @size bytes of it out to @events on this CPU; returns what
 * the helper did. */
int bpf_asm_perf_output(int events_fd, int scratch_fd, uint32_t size);
/* The same into a BPF ring; a failure adds one to value 0 of @drops_fd (-1: nobody counts). */
int bpf_asm_ring_output(int ring_fd, int scratch_fd, int drops_fd, uint32_t size, uint32_t flags);
/* Reserves @size bytes, writes 7 at the start, and submits or discards them. */
int bpf_asm_ring_reserve(int ring_fd, uint32_t size, int discard);
/* Drains a user ring; every record's first 8 bytes are added to the first 8 of @scratch. */
int bpf_asm_user_drain(int ring_fd, int scratch_fd);
