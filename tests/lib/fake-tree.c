/* SPDX-License-Identifier: MIT */
/* Small copies of sysfs and tracefs made of plain files. */
#include "lib/fake-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	return 0;
}

int fake_file(const char *root, const char *path, const char *text)
{
	char full[1024];
	size_t len = strlen(text);
	ssize_t put;
	int fd;

	if ((size_t)snprintf(full, sizeof(full), "%s/%s", root, path) >= sizeof(full)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (make_folders(full) < 0)
		return -1;
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	put = write(fd, text, len);
	close(fd);
	return put == (ssize_t)len ? 0 : -1;
}

struct file {
	const char *path, *text;
};

static int write_files(const char *root, const char *below, const struct file *files, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", below, files[i].path);
		if (fake_file(root, path, files[i].text) < 0)
			return -1;
	}
	return 0;
}

#define WRITE_FILES(root, below, files) \
	write_files(root, below, files, sizeof(files) / sizeof((files)[0]))
#define DEVICES "bus/event_source/devices"

static const struct file core_files[] = {
	{ "format/event", "config:0-7\n" },
	{ "format/umask", "config:8-15\n" },
	{ "format/edge", "config:18\n" },
	{ "format/any", "config:21\n" },
	{ "format/inv", "config:23\n" },
	{ "format/cmask", "config:24-31\n" },
	{ "format/ldlat", "config1:0-15\n" },
	{ "format/offcore_rsp", "config1:0-63\n" },
	{ "format/split", "config2:0-3,8-11,63\n" },
	{ "format/three", "config3:4-7\n" },
	{ "format/four", "config4:0-31\n" },
	{ "events/cpu-cycles", "event=0x3c\n" },
	{ "events/instructions", "event=0xc0\n" },
	{ "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n" },
	{ "events/slots", "event=0x00,umask=0x4,inv\n" },
	{ "caps/max_precise", "3\n" },
};

static const struct file common_files[] = {
	{ "software/type", "1\n" },
	{ "tracepoint/type", "2\n" },
	{ "breakpoint/type", "5\n" },
	{ "uprobe/type", "9\n" },
	{ "uprobe/format/retprobe", "config:0\n" },
	{ "uprobe/format/ref_ctr_offset", "config:32-63\n" },
	{ "power/type", "12\n" },
	{ "power/cpumask", "0\n" },
	{ "power/format/event", "config:0-7\n" },
	{ "power/events/energy-pkg", "event=0x02\n" },
	{ "power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n" },
	{ "power/events/energy-pkg.unit", "Joules\n" },
	{ "uncore_imc_0/type", "20\n" },
	{ "uncore_imc_0/cpumask", "0,18\n" },
	{ "uncore_imc_0/format/event", "config:0-7\n" },
	{ "uncore_imc_0/format/umask", "config:8-15\n" },
	{ "uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n" },
	{ "uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n" },
	{ "uncore_imc_0/events/cas_count_read.unit", "MiB\n" },
	{ "uncore_imc_0/events/cas_count_read.per-pkg", "1\n" },
	{ "uncore_imc_1/type", "21\n" },
	{ "uncore_imc_1/cpumask", "0,18\n" },
	{ "uncore_imc_1/format/event", "config:0-7\n" },
	{ "uncore_imc_1/format/umask", "config:8-15\n" },
	{ "uncore_imc_1/events/cas_count_read", "event=0x04,umask=0x03\n" },
	{ "uncore_imc_10/type", "22\n" },
	{ "uncore_imc_10/cpumask", "0,18\n" },
	{ "uncore_imc_10/format/event", "config:0-7\n" },
	{ "uncore_imc_free_running_0/type", "30\n" },
	{ "uncore_imc_free_running_0/events/data_total", "event=0xff,umask=0x20\n" },
	{ "uncore_imc_free_running_0/events/data_total.snapshot", "1\n" },
	{ "uncore_imc_free_running_0/format/event", "config:0-7\n" },
	{ "uncore_imc_free_running_0/format/umask", "config:8-15\n" },
	{ "broken/type", "40\n" },
	{ "broken/format/bad", "config9:0-7\n" },
	{ "broken/format/event", "config:0-7\n" },
	{ "broken/events/toolarge", "event=0x100\n" },
	{ "broken/events/garbage", "=,,=\n" },
	{ "broken/events/alien", "nofield=1\n" },
	{ "broken/events/open", "event=0x1,core=?\n" },
	{ "broken/format/core", "config:16-19\n" },
	{ "broken/events/badscale", "event=0x1\n" },
	{ "broken/events/badscale.scale", "fast\n" },
	{ "typeless/format/event", "config:0-7\n" },
};

int fake_sysfs(const char *root)
{
	if (WRITE_FILES(root, DEVICES "/cpu", core_files) < 0 ||
	    fake_file(root, DEVICES "/cpu/type", "4\n") < 0)
		return -1;
	return WRITE_FILES(root, DEVICES, common_files);
}

int fake_sysfs_hybrid(const char *root)
{
	static const struct file kinds[] = {
		{ "cpu_core/type", "4\n" },
		{ "cpu_core/cpus", "0-15\n" },
		{ "cpu_atom/type", "10\n" },
		{ "cpu_atom/cpus", "16-23\n" },
	};

	if (WRITE_FILES(root, DEVICES "/cpu_core", core_files) < 0 ||
	    WRITE_FILES(root, DEVICES "/cpu_atom", core_files) < 0)
		return -1;
	if (WRITE_FILES(root, DEVICES, kinds) < 0)
		return -1;
	return WRITE_FILES(root, DEVICES, common_files);
}

#define FORMAT_COMMON(name, id)                                                        \
	"name: " name "\nID: " id "\nformat:\n"                                        \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const struct file event_files[] = {
	{ "sched/enable", "0\n" },
	{ "sched/filter", "none\n" },
	{ "sched/sched_switch/id", "314\n" },
	{ "sched/sched_switch/format",
	  FORMAT_COMMON("sched_switch",
			"314") "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			       "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			       "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
			       "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
			       "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
			       "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
			       "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
			       "\nprint fmt: \"prev_comm=%s ==> next_pid=%d\", REC->prev_comm, "
			       "REC->next_pid\n" },
	{ "sched/sched_wakeup/id", "317\n" },
	{ "sched/sched_wakeup/format",
	  FORMAT_COMMON("sched_wakeup",
			"317") "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			       "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			       "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
			       "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
			       "\nprint fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n" },
	{ "sched/sched_switch_extra/id", "318\n" },
	{ "syscalls/sys_enter_openat/id", "640\n" },
	{ "syscalls/sys_enter_openat/format",
	  FORMAT_COMMON("sys_enter_openat",
			"640") "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n"
			       "\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;\n"
			       "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
			       "\nprint fmt: \"dfd: 0x%08lx\", ((unsigned long)(REC->dfd))\n" },
	{ "block/block_rq_issue/id", "900\n" },
	{ "block/block_rq_issue/format",
	  FORMAT_COMMON(
		  "block_rq_issue",
		  "900") "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
			 "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
			 "\tfield:__data_loc char[] cmd;\toffset:24;\tsize:4;\tsigned:0;\n"
			 "\tfield:__data_loc cpumask_t cpumask;\toffset:28;\tsize:4;\tsigned:0;\n"
			 "\nprint fmt: \"%d\", REC->dev\n" },
	{ "odd/no_id/format", "name: no_id\n" },
	{ "odd/bad_id/id", "many\n" },
	{ "odd/bad_format/id", "7\n" },
	{ "odd/bad_format/format", "name: bad_format\nID: 7\nformat:\n\tfield:int\n" },
};

int fake_tracefs(const char *root)
{
	return WRITE_FILES(root, "events", event_files);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	return remove(path);
}

int fake_remove(const char *root)
{
	return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static char shared_root[] = "/tmp/coati-fake-XXXXXX";
static char shared_sys[64], shared_tracing[64];

static void remove_shared(void)
{
	fake_remove(shared_root);
}

static void make_shared(void)
{
	if (!mkdtemp(shared_root) || atexit(remove_shared) != 0)
		abort();
	snprintf(shared_sys, sizeof(shared_sys), "%s/sys", shared_root);
	snprintf(shared_tracing, sizeof(shared_tracing), "%s/tracing", shared_root);
	if (fake_sysfs(shared_sys) < 0 || fake_tracefs(shared_tracing) < 0)
		abort();
}

const char *fake_shared(const char *part)
{
	if (!shared_sys[0])
		make_shared();
	return strcmp(part, "sys") == 0 ? shared_sys : shared_tracing;
}
