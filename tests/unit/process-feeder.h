/* SPDX-License-Identifier: MIT */
/* A model of processes with the records that tests feed it, each in one line. Included by the tests
 * of the process station. */
#pragma once

#include <stdint.h>

#include <coati/image.h>
#include <coati/process.h>

struct feeder {
	struct coati_images *images;
	struct coati_processes *ps;
};

void feeder_open(struct feeder *f, const struct coati_processes_opts *opts);
void feeder_close(struct feeder *f);
/* Each returns what coati_processes_feed() does. */
int feeder_map(struct feeder *f, int32_t pid, uint64_t time, uint64_t addr, const char *path);
int feeder_map_record(struct feeder *f, const struct coati_mmap *m, uint16_t misc, uint64_t time);
int feeder_fork(struct feeder *f, int32_t pid, int32_t ppid, uint64_t time);
int feeder_thread(struct feeder *f, int32_t pid, int32_t tid, int32_t ptid, uint64_t time);
/* A process that a tool found running. */
int feeder_told(struct feeder *f, int32_t pid, int32_t ppid);
int feeder_exec(struct feeder *f, int32_t pid, uint64_t time, const char *name);
int feeder_comm(struct feeder *f, int32_t pid, int32_t tid, uint64_t time, const char *name);
int feeder_exit(struct feeder *f, int32_t pid, int32_t tid, uint64_t time);
int feeder_ksymbol(struct feeder *f, uint64_t addr, const char *name, uint16_t type, uint64_t time);
int feeder_ksymbol_gone(struct feeder *f, uint64_t addr, uint64_t time);
/* The path of what is at the address, "-" for nothing. */
const char *feeder_path(struct feeder *f, int32_t pid, uint64_t addr, uint64_t time);
const char *feeder_kernel_path(struct feeder *f, uint64_t addr, uint64_t time);
const char *feeder_name(struct feeder *f, int32_t pid, int32_t tid, uint64_t time);
/* Length of every mapping of feeder_map() and of every symbol. */
#define FEEDER_LEN UINT64_C(0x1000)
