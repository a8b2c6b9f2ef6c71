/* SPDX-License-Identifier: MIT */
/* coati record --snapshot: what the flight recorder of a process holds now, as a recording. The
 * process is not stopped, and does not notice. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/autopsy/autopsy.h"
#include "cli/record/output.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/record/session.h"
#include "cli/talk.h"

const char *coati_record_snapshot_conflict(const struct record_args *a)
{
	if (a->pids.len != 1)
		return "--snapshot needs one --pid (-p): the process whose flight recorder is "
		       "copied";
	if (a->command || a->tids.len || a->all || a->cpus || a->cgroup || a->no_inherit ||
	    a->events.len || a->freq || a->period || a->stacks || a->stack_bytes || a->max_stack ||
	    a->off_cpu || a->trace || a->syscalls || a->no_irq || a->switches || a->namespaces ||
	    a->cgroups || a->data || a->duration_ns || a->delay_ns || a->overwrite || a->when ||
	    a->no_pack || a->zstd || a->zstd_level || a->max_bytes || a->switch_on ||
	    a->max_files || a->ring_bytes || a->fail_if.len || a->verbose)
		return "--snapshot copies a flight recorder and records nothing: it takes only "
		       "--pid (-p), --output (-o) and --quiet (-q)";
	return NULL;
}

static int find(int32_t pid, struct autopsy_target *ret, struct coati_error *err)
{
	struct autopsy_args a = { .clean_ns = AUTOPSY_ALL };
	char target[16];
	int r;

	snprintf(target, sizeof(target), "%d", pid);
	r = coati_autopsy_find(&a, target, ret, err);
	if (r < 0)
		coati_say("%s", err->text);
	if (r < 0 && (kill(pid, 0) == 0 || errno == EPERM))
		coati_note("a flight recorder is started by the program itself "
			   "(coati_recorder_start()), or when it is run with "
			   "COATI_TRACE=/dev/shm/coati-%u; coati record --trace -p %d records it "
			   "from now on",
			   (unsigned int)geteuid(), pid);
	return r;
}

int coati_record_snapshot(const struct record_args *args)
{
	struct coati_error err = { 0 };
	struct autopsy_saved saved;
	struct autopsy_target target = { .fd = -1 };
	int r;

	if (coati_record_check_default(args->out, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	if (find(args->pids.v[0], &target, &err) < 0)
		return EXIT_FAILED;
	/* a verb that records has rights that a reader gives up */
	coati_confinement_enter(
		&(struct confinement){ .is_off = true, .describe = coati_autopsy_describe_job });
	r = coati_autopsy_save(&target, args->out, &saved, &err);
	close(target.fd);
	if (r < 0) {
		coati_say("%s: %s", target.path, err.text);
		return EXIT_FAILED;
	}
	coati_note("%s: %" PRIu64 " live events of process %d, the last %.3f s", args->out,
		   saved.events, args->pids.v[0], (double)saved.length_ns / 1e9);
	return EXIT_DONE;
}
