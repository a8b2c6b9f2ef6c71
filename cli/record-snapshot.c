/* SPDX-License-Identifier: MIT */
/* coati record --snapshot: what the flight recorder of a process holds now, as a recording. The process is not stopped, and does not notice. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "autopsy.h"
#include "base/error.h"
#include "command.h"
#include "record-session.h"
#include "talk.h"

const char *coati_record_snapshot_conflict(const struct record_args *a)
{
	if (a->pids.len != 1)
		return "--snapshot wants one --pid (-p): the process whose flight recorder is copied";
	if (a->command || a->tids.len || a->all || a->cpus || a->cgroup || a->events.len ||
	    a->trace || a->off_cpu || a->overwrite || a->switch_on || a->duration_ns ||
	    a->delay_ns || a->freq || a->period || a->switches || a->namespaces || a->cgroups ||
	    a->data || a->zstd || a->max_bytes || a->stack_bytes || a->max_stack || a->stacks ||
	    a->ring_bytes)
		return "--snapshot records nothing: it copies what a flight recorder holds, and goes with --pid (-p), --output (-o), --quiet (-q) and --verbose (-v) alone";
	return NULL;
}

static int find(int32_t pid, char *path, size_t size, struct coati_error *err)
{
	struct autopsy_args a = { .clean_ns = AUTOPSY_ALL };
	char target[16];
	int r;

	snprintf(target, sizeof(target), "%d", pid);
	r = coati_autopsy_find(&a, target, path, size, err);
	if (r < 0)
		coati_say("%s", err->text);
	if (r < 0 && (kill(pid, 0) == 0 || errno == EPERM))
		coati_note(
			"a flight recorder is started by the program itself (coati_recorder_start()), or when it is run with COATI_TRACE=/dev/shm/coati-%u; coati record --trace -p %d records it from now on",
			(unsigned int)geteuid(), pid);
	return r;
}

int coati_record_snapshot(const struct record_args *args)
{
	struct autopsy_args shown = { .clean_ns = AUTOPSY_ALL, .last_ns = 0 };
	struct autopsy a = { .args = &shown };
	struct coati_error err = { 0 };
	char path[4096];
	int r;

	if (find(args->pids.v[0], path, sizeof(path), &err) < 0)
		return EXIT_FAILED;
	r = coati_autopsy_read(&a, path, &err);
	if (r == 0)
		r = coati_autopsy_save(path, a.first_ns, args->out, &err);
	if (r < 0)
		coati_say("%s", err.text);
	else
		coati_note("%s: %" PRIu64 " live events of process %d, the last %.3f s", args->out,
			   a.quality.events, args->pids.v[0],
			   (double)(a.end_ns - a.first_ns) / 1e9);
	coati_autopsy_fini(&a);
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
