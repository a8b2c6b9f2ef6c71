/* SPDX-License-Identifier: MIT */
/* Recordings tell of BPF programs that were loaded before they began, with the kernel's own
 * names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bpf-asm.h"
#include "need.h"
#include "ring/bpf-call.h"

#define LINE_BYTES 512

struct loaded {
	int map, scratch, prog;
	uint32_t id;
};

/* A program of two functions with names, where the kernel has user rings; else one without. */
static void load(struct loaded *l)
{
	struct bpf_prog_info info;

	need_root();
	l->scratch = bpf_asm_scratch();
	if (l->scratch < 0)
		test_skip_need("bpf", "a BPF map: %s", strerror(-l->scratch));
	l->map = bpf_asm_map(BPF_MAP_TYPE_USER_RINGBUF, 0, 0, 4096, 0);
	if (l->map < 0) {
		l->map = bpf_asm_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 2, 0);
		CHECK_OK(l->map);
		l->prog = bpf_asm_perf_output(l->map, l->scratch, 8);
	} else {
		l->prog = bpf_asm_user_drain(l->map, l->scratch);
	}
	if (l->prog < 0)
		test_skip_need("bpf", "loading a BPF program: %s", strerror(-l->prog));
	memset(&info, 0, sizeof(info));
	CHECK_OK(coati_bpf_info(l->prog, &info, sizeof(info)));
	if (!info.jited_prog_len || !info.nr_jited_ksyms)
		test_skip("this kernel does not compile BPF programs");
	l->id = info.id;
}

static void unload(struct loaded *l)
{
	close(l->prog);
	close(l->map);
	close(l->scratch);
}

static void record(void)
{
	char command[1024];

	snprintf(command, sizeof(command), "%s record -o data true 2>talk", test_tool());
	if (system(command) != 0)
		test_fail_at(__FILE__, __LINE__, "%s failed", command);
}

/* Whether @command prints a line that has all of @parts. */
static bool prints(const char *command, const char *const parts[2])
{
	char line[LINE_BYTES];
	FILE *f = popen(command, "r");
	bool found = false;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		found = found || (strstr(line, parts[0]) && strstr(line, parts[1]));
	pclose(f);
	return found;
}

/* The name that kallsyms has for @addr, into @buf. */
static void kernel_name(uint64_t addr, char *buf, size_t size)
{
	FILE *f = popen("grep '\\[bpf\\]$' /proc/kallsyms", "r");
	char line[LINE_BYTES], want[32];

	CHECK(f);
	buf[0] = '\0';
	snprintf(want, sizeof(want), "%016" PRIx64 " ", addr);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, want, strlen(want)) != 0)
			continue;
		line[strcspn(line, "\t\n")] = '\0';
		snprintf(buf, size, "name=%s\n", line + strlen(want) + 2);
	}
	pclose(f);
}

TEST(a_recording_names_the_functions_of_loaded_programs_as_kallsyms_does)
{
	char command[1024], name[LINE_BYTES], addr[64];
	uint64_t addrs[2] = { 0 };
	struct bpf_prog_info info;
	struct loaded l;

	load(&l);
	memset(&info, 0, sizeof(info));
	info.nr_jited_ksyms = 2;
	info.jited_ksyms = (uintptr_t)addrs;
	CHECK_OK(coati_bpf_info(l.prog, &info, sizeof(info)));
	record();
	snprintf(command, sizeof(command), "%s dump -i data", test_tool());
	for (uint32_t i = 0; i < info.nr_jited_ksyms && i < 2; i++) {
		kernel_name(addrs[i], name, sizeof(name));
		CHECK_HAS(name, "bpf_prog_");
		snprintf(addr, sizeof(addr), "KSYMBOL addr=0x%" PRIx64 " ", addrs[i]);
		CHECK(prints(command, (const char *const[]){ addr, name }));
	}
	unload(&l);
}

TEST(perf_script_shows_the_programs_that_were_loaded_before_our_recording)
{
	char id[32];
	struct loaded l;

	if (system("perf --version >/dev/null 2>&1") != 0)
		test_skip("perf is not installed");
	load(&l);
	record();
	snprintf(id, sizeof(id), "id %u\n", l.id);
	CHECK(prints("perf script --show-bpf-events -i data 2>&1",
		     (const char *const[]){ "BPF_EVENT type 1, flags 0", id }));
	CHECK(prints("perf script --show-bpf-events -i data 2>&1",
		     (const char *const[]){ "KSYMBOL", "bpf_prog_" }));
	unload(&l);
}

TEST(an_ordinary_user_records_without_what_the_kernel_hides_of_programs)
{
	char command[1024];
	struct loaded l;

	load(&l);
	need_perf();
	CHECK_OK(chmod(".", 0777));
	become_nobody();
	if (access(test_tool(), X_OK) < 0)
		test_skip("an ordinary user cannot run the tool where it lies");
	record();
	snprintf(command, sizeof(command), "%s dump -i data", test_tool());
	CHECK(!prints(command, (const char *const[]){ "BPF_EVENT", "" }));
	unload(&l);
}
