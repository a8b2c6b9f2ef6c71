/* SPDX-License-Identifier: MIT */
/* One function per facility: facts in, a finding out. */
#include "cli/doctor/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coati/capture.h>
#include <coati/error.h>
#include <coati/version.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "capture/session.h"
#include "event/host.h"
#include "event/version.h"

/* Numbers of capabilities, as in the kernel's capability.h. */
#define CAP_IPC_LOCK_	14
#define CAP_SYS_PTRACE_ 19
#define CAP_SYS_ADMIN_	21
#define CAP_SYSLOG_	34
#define CAP_PERFMON_	38
#define CAP_BPF_	39

#define ATTR_SIZE_510 120 /* of Linux 5.5 to 5.12 */

static int has_cap(const struct coati_host *h, int cap)
{
	return h->caps_effective >> cap & 1 && h->user_namespace != 1;
}

static int may_all(const struct coati_host *h)
{
	return has_cap(h, CAP_PERFMON_) || has_cap(h, CAP_SYS_ADMIN_);
}

__attribute__((format(printf, 2, 3))) static void put(char *text, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, FINDING_TEXT, fmt, ap);
	va_end(ap);
}

static void check_kernel(const struct coati_host *h, struct finding *f)
{
	put(f->found, "Linux %s, %lld of %lld CPUs online", h->kernel, (long long)h->nr_cpus_online,
	    (long long)h->nr_cpus_possible);
	f->state = FINDING_OK;
	if (h->attr_size > 0 && h->attr_size < ATTR_SIZE_510) {
		f->state = FINDING_LIMITED;
		put(f->means, "older than Linux 5.10: coati is not tested on it");
		put(f->remedy, "use a kernel from 5.10 on");
	}
}

/* Why even the simplest event does not open. */
static void explain_refusal(const struct coati_host *h, struct finding *f)
{
	int code = (int)-h->software_self;

	if (code == ENOSYS || h->paranoid == COATI_HOST_UNKNOWN) {
		put(f->means, "this kernel has no perf events: nothing can be counted or recorded");
		put(f->remedy, "boot a kernel with CONFIG_PERF_EVENTS=y");
	} else if (h->paranoid >= 3 && !may_all(h)) {
		put(f->means,
		    "kernel.perf_event_paranoid is %lld: ordinary users may not open events",
		    (long long)h->paranoid);
		put(f->remedy, "sudo sysctl kernel.perf_event_paranoid=1");
	} else if (h->seccomp == 2 || h->container == 1) {
		put(f->means, "a seccomp filter, probably of a container, forbids perf_event_open");
		put(f->remedy,
		    "docker run --cap-add PERFMON --security-opt seccomp=unconfined ... (same with "
		    "podman)");
	} else {
		put(f->means, "nothing can be counted or recorded");
		put(f->remedy, "sudo sysctl kernel.perf_event_paranoid=1");
	}
}

static void check_self(const struct coati_host *h, struct finding *f)
{
	f->state = h->software_self ? FINDING_MISSING : FINDING_OK;
	if (h->software_self) {
		put(f->found, "cannot open a software event on this process: %s (%s)",
		    strerrordesc_np((int)-h->software_self),
		    coati_errno_name((int)h->software_self));
		explain_refusal(h, f);
	} else {
		put(f->found, "own processes can be counted");
	}
}

static void check_kernel_part(const struct coati_host *h, struct finding *f)
{
	f->state = h->software_self_kernel ? FINDING_LIMITED : FINDING_OK;
	put(f->found, h->software_self_kernel ? "kernel time of a process is not counted"
					      : "kernel time of a process is counted too");
	if (!h->software_self_kernel)
		return;
	put(f->means, "events count user space only, context switches and migrations not at all");
	put(f->remedy, "sudo sysctl kernel.perf_event_paranoid=1");
}

static void check_system(const struct coati_host *h, struct finding *f)
{
	f->state = h->software_cpu ? FINDING_LIMITED : FINDING_OK;
	put(f->found, h->software_cpu ? "only own processes, not the whole machine"
				      : "the whole machine can be watched (-a)");
	if (!h->software_cpu)
		return;
	put(f->means, "-a, -C and --cgroup are refused");
	put(f->remedy, "sudo sysctl kernel.perf_event_paranoid=0, or run as root");
}

static void check_paranoid(const struct coati_host *h, struct finding *f)
{
	if (h->paranoid == COATI_HOST_UNKNOWN) {
		f->state = FINDING_MISSING;
		put(f->found, "kernel.perf_event_paranoid does not exist");
		put(f->means, "this kernel has no perf events, or /proc is not mounted");
		put(f->remedy, "mount -t proc proc /proc, or a kernel with CONFIG_PERF_EVENTS=y");
		return;
	}
	f->state = h->paranoid <= 0 || may_all(h) ? FINDING_OK : FINDING_LIMITED;
	put(f->found, "kernel.perf_event_paranoid = %lld%s", (long long)h->paranoid,
	    may_all(h) ? ", bypassed by the capabilities of this process" : "");
	if (f->state == FINDING_OK)
		return;
	put(f->means, h->paranoid >= 3	 ? "no events for ordinary users"
		      : h->paranoid == 2 ? "user space of own processes only"
					 : "own processes only, with their kernel part");
	put(f->remedy,
	    "sudo sysctl kernel.perf_event_paranoid=0 (1: own processes with the kernel)");
}

static void check_caps(const struct coati_host *h, struct finding *f)
{
	static const struct {
		int cap;
		const char *name;
	} caps[] = {
		{ CAP_PERFMON_, "perfmon" },	 { CAP_BPF_, "bpf" },
		{ CAP_SYS_ADMIN_, "sys_admin" }, { CAP_SYS_PTRACE_, "sys_ptrace" },
		{ CAP_IPC_LOCK_, "ipc_lock" },	 { CAP_SYSLOG_, "syslog" },
	};
	struct strbuf s = STRBUF_INIT(256);

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		if (h->caps_effective >> caps[i].cap & 1)
			coati_strbuf_printf(&s, "%s%s", s.len ? " " : "", caps[i].name);
	}
	put(f->found, "uid %lld, capabilities: %s", (long long)h->uid, s.len ? s.text : "none");
	coati_strbuf_fini(&s);
	f->state = may_all(h) ? FINDING_OK : FINDING_LIMITED;
	if (may_all(h))
		return;
	if (h->user_namespace == 1)
		put(f->means, "capabilities of a user namespace do not count for perf events");
	else
		put(f->means, "the limits of an ordinary user apply");
	put(f->remedy,
	    "sudo coati ..., or sudo setcap cap_perfmon,cap_bpf,cap_sys_ptrace,cap_syslog=ep "
	    "$(command -v coati)");
}

static void check_container(const struct coati_host *h, struct finding *f)
{
	f->state = FINDING_OK;
	put(f->found, "seccomp %s%s%s%s",
	    h->seccomp == 2   ? "filter"
	    : h->seccomp == 1 ? "strict"
			      : "off",
	    h->container == 1 ? ", in a container" : ", no sign of a container",
	    h->container_hint[0] ? ": " : "", h->container_hint);
	if (h->container != 1 && h->seccomp <= 0)
		return;
	if (h->software_self) {
		f->state = FINDING_LIMITED;
		put(f->means, "the container's seccomp filter may refuse events");
		put(f->remedy, "docker run --cap-add PERFMON --cap-add SYS_PTRACE "
			       "--security-opt seccomp=unconfined ...");
	} else if (h->container == 1) {
		put(f->means, "PIDs are those of the container");
	}
}

static void check_lockdown(const struct coati_host *h, struct finding *f)
{
	f->state = h->lsm_lockdown > 0 ? FINDING_LIMITED : FINDING_OK;
	put(f->found, h->lsm_lockdown == 2   ? "lockdown: confidentiality"
		      : h->lsm_lockdown == 1 ? "lockdown: integrity"
					     : "no kernel lockdown");
	if (h->lsm_lockdown == 2)
		put(f->means,
		    "events that could read kernel memory, kprobes and BPF reads are refused");
	else if (h->lsm_lockdown == 1)
		put(f->means, "counting works; BPF programs may not write user memory");
	if (h->lsm_lockdown > 0)
		put(f->remedy, "boot with lockdown=none (secure boot off)");
}

static void check_rate(const struct coati_host *h, struct finding *f)
{
	f->state = FINDING_OK;
	if (h->max_sample_rate == COATI_HOST_UNKNOWN) {
		f->state = FINDING_MISSING;
		put(f->found, "kernel.perf_event_max_sample_rate does not exist");
		return;
	}
	put(f->found,
	    "up to %lld samples/s per CPU, at most %lld %% of its time, stacks of %lld frames",
	    (long long)h->max_sample_rate, (long long)h->cpu_time_max_percent,
	    (long long)h->max_stack);
	if (h->max_sample_rate >= 4000)
		return;
	f->state = FINDING_LIMITED;
	put(f->means, "the kernel has lowered the rate because sampling took too long");
	put(f->remedy, "sudo sysctl kernel.perf_event_max_sample_rate=100000");
}

static void check_mlock(const struct coati_host *h, struct finding *f)
{
	long long mlock = h->mlock_kb == COATI_HOST_UNKNOWN ? 0 : (long long)h->mlock_kb;

	f->state = FINDING_OK;
	if (h->memlock_bytes < 0)
		put(f->found, "%lld KiB of ring buffers per CPU, RLIMIT_MEMLOCK unlimited", mlock);
	else
		put(f->found, "%lld KiB of ring buffers per CPU, RLIMIT_MEMLOCK %lld KiB", mlock,
		    (long long)h->memlock_bytes / 1024);
	if (mlock >= 516 || h->memlock_bytes < 0 || has_cap(h, CAP_IPC_LOCK_))
		return;
	f->state = FINDING_LIMITED;
	put(f->means, "ring buffers are smaller than usual, so more records are lost under load");
	put(f->remedy, "sudo sysctl kernel.perf_event_mlock_kb=516, or ulimit -l 65536");
}

static void check_tracefs(const struct coati_host *h, struct finding *f)
{
	if (!h->tracefs[0]) {
		f->state = FINDING_MISSING;
		put(f->found, "tracefs is not mounted");
		put(f->means, "tracepoints such as sched:sched_switch cannot be named");
		put(f->remedy, "sudo mount -t tracefs nodev /sys/kernel/tracing");
	} else if (h->tracefs_readable != 1) {
		f->state = FINDING_LIMITED;
		put(f->found, "%s is not readable for this user", h->tracefs);
		put(f->means, "tracepoints such as sched:sched_switch cannot be named");
		put(f->remedy, "sudo mount -o remount,gid=$(id -g),mode=750 %s, or run as root",
		    h->tracefs);
	} else if (h->tracepoint_raw && h->tracepoint_raw != COATI_HOST_UNKNOWN) {
		f->state = FINDING_LIMITED;
		put(f->found, "%s is readable, payloads are refused", h->tracefs);
		put(f->means, "tracepoints can be counted, their fields cannot be recorded");
		put(f->remedy, "sudo sysctl kernel.perf_event_paranoid=-1, or run as root");
	} else {
		f->state = FINDING_OK;
		put(f->found, "%s, tracepoints with their fields", h->tracefs);
	}
}

static void check_pmu(const struct coati_host *h, struct finding *f)
{
	f->state = h->has_pmu == 1 ? FINDING_OK : FINDING_MISSING;
	if (h->has_pmu == 1) {
		put(f->found, "cycles and instructions are counted by the CPU");
		return;
	}
	put(f->found, "no hardware counters");
	put(f->means,
	    "cycles, instructions, branches and caches cannot be counted; sampling uses a timer");
	put(f->remedy, "in a virtual machine give the guest a PMU (qemu: -cpu host,pmu=on)");
}

static void check_pmus(const struct coati_host *h, struct finding *f)
{
	f->state = h->pmus[0] ? FINDING_OK : FINDING_MISSING;
	put(f->found, "%s", h->pmus[0] ? h->pmus : "none in /sys/bus/event_source/devices");
	if (!h->pmus[0]) {
		put(f->means, "events of the form pmu/.../ cannot be named");
		put(f->remedy, "sudo mount -t sysfs sysfs /sys");
	}
}

static void check_kprobes(const struct coati_host *h, struct finding *f)
{
	f->state = h->kprobes == 1 ? FINDING_OK : FINDING_MISSING;
	put(f->found, h->kprobes == 1 ? "the kprobe PMU is there" : "no kprobe PMU");
	if (h->kprobes != 1) {
		put(f->means, "kernel functions cannot be probed");
		put(f->remedy, "boot a kernel with CONFIG_KPROBE_EVENTS=y");
	}
}

static void check_uprobes(const struct coati_host *h, struct finding *f)
{
	f->state = h->uprobes == 1 ? FINDING_OK : FINDING_MISSING;
	put(f->found, h->uprobes == 1 ? "the uprobe PMU is there" : "no uprobe PMU");
	if (h->uprobes != 1) {
		put(f->means, "functions and USDT probes of programs cannot be probed");
		put(f->remedy, "boot a kernel with CONFIG_UPROBE_EVENTS=y");
	} else if (!may_all(h)) {
		f->state = FINDING_LIMITED;
		put(f->means, "only root, or CAP_PERFMON, may place probes");
		put(f->remedy, "sudo coati ...");
	}
}

static void check_bpf(const struct coati_host *h, struct finding *f)
{
	f->state = h->bpf == 1 ? FINDING_OK : h->bpf == 0 ? FINDING_LIMITED : FINDING_MISSING;
	put(f->found, h->bpf == 1   ? "programs may be loaded"
		      : h->bpf == 0 ? "not permitted for this user"
				    : "not in this kernel");
	if (h->bpf == 1)
		return;
	put(f->means, "stacks are not unwound in the kernel, counting in the kernel is off");
	if (h->bpf == 0)
		put(f->remedy,
		    "sudo coati ..., or sudo setcap cap_bpf,cap_perfmon=ep $(command -v coati)");
	else
		put(f->remedy, "boot a kernel with CONFIG_BPF_SYSCALL=y");
}

static void check_btf(const struct coati_host *h, struct finding *f)
{
	f->state = h->btf == 1 ? FINDING_OK : FINDING_MISSING;
	put(f->found, h->btf == 1 ? "/sys/kernel/btf/vmlinux" : "no /sys/kernel/btf/vmlinux");
	if (h->btf != 1) {
		put(f->means, "BPF programs cannot adapt to this kernel's structs");
		put(f->remedy, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y");
	}
}

static void check_clock(const struct coati_host *h, struct finding *f)
{
	f->state = h->cycles_invariant == 1 ? FINDING_OK : FINDING_LIMITED;
	if (h->cycles_hz > 0)
		put(f->found, "clocksource %s, cycle counter %lld MHz, %s", h->clocksource,
		    (long long)(h->cycles_hz / 1000000),
		    h->cycles_invariant == 1 ? "invariant" : "not invariant");
	else
		put(f->found, "clocksource %s, cycle counter %s",
		    h->clocksource[0] ? h->clocksource : "unknown",
		    h->cycles_invariant == 1 ? "invariant" : "not invariant or unknown");
	if (h->cycles_invariant != 1) {
		put(f->means, "events inside programs use clock_gettime, which costs more");
		put(f->remedy, "in a virtual machine give the guest an invariant TSC "
			       "(qemu: -cpu host,invtsc=on)");
	}
}

static void check_kernel_symbols(const struct coati_host *h, struct finding *f)
{
	f->state = h->kallsyms == 1 ? FINDING_OK : FINDING_LIMITED;
	put(f->found,
	    h->kallsyms == 1 ? "/proc/kallsyms shows addresses" : "/proc/kallsyms hides addresses");
	if (h->kptr_restrict != COATI_HOST_UNKNOWN) {
		size_t len = strlen(f->found);

		snprintf(f->found + len, FINDING_TEXT - len, ", kernel.kptr_restrict = %lld",
			 (long long)h->kptr_restrict);
	}
	if (h->kallsyms != 1) {
		put(f->means, "functions of the kernel have no names");
		put(f->remedy, "sudo sysctl %skernel.perf_event_paranoid=1, or run as root",
		    h->kptr_restrict > 0 ? "kernel.kptr_restrict=0 " : "");
	}
}

static void check_unwinding(const struct coati_host *h, struct finding *f)
{
	f->state = FINDING_OK;
	put(f->found, "frame pointers by the kernel, %lld frames deep; .eh_frame by coati itself",
	    (long long)h->max_stack);
}

static void check_kernel_stacks(const struct coati_host *h, struct finding *f)
{
	struct coati_error why = { 0 };

	f->state = coati_capture_probe_bpf(&why) < 0 ? FINDING_MISSING : FINDING_OK;
	if (f->state == FINDING_OK) {
		put(f->found, "the stack walker can be loaded (record -g bpf)");
		return;
	}
	put(f->found, "the stack walker cannot be loaded");
	put(f->means, "stacks are unwound from copies (record -g table)");
	put(f->remedy, "%s", why.text);
}

static void check_symbols(const struct coati_host *h, struct finding *f)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	int server = urls && *urls, debug = !access("/usr/lib/debug/.build-id", R_OK);

	put(f->found, "%s; %s",
	    debug ? "debug files in /usr/lib/debug" : "no debug files in /usr/lib/debug",
	    server ? "debuginfod is set" : "DEBUGINFOD_URLS is not set");
	f->state = server || debug ? FINDING_OK : FINDING_LIMITED;
	if (f->state == FINDING_OK)
		return;
	put(f->means, "system libraries have no source lines");
	put(f->remedy, "export DEBUGINFOD_URLS=https://debuginfod.debian.net "
		       "(or the server of the distribution)");
}

/* What confines the verbs that read files. */
static void check_sandbox(const struct coati_host *h, struct finding *f)
{
	struct sandbox_support s;

	(void)h;
	coati_sandbox_probe(&s);
	coati_finding_sandbox(&s, f);
}

static void check_build(const struct coati_host *h, struct finding *f)
{
	struct strbuf with = STRBUF_INIT(128), without = STRBUF_INIT(128);
	const char *name;
	int built;

	for (unsigned int i = 0; (name = coati_feature(i, &built)); i++)
		coati_strbuf_printf(built ? &with : &without, " %s", name);
	f->state = without.len ? FINDING_LIMITED : FINDING_OK;
	put(f->found, "coati %s, with%s%s%s", coati_version(), with.len ? with.text : " libc alone",
	    without.len ? ", without" : "", without.text);
	if (without.len) {
		put(f->means, "features that need%s are missing", without.text);
		put(f->remedy,
		    "install the development packages and build again: scripts/setup && make");
	}
	coati_strbuf_fini(&with);
	coati_strbuf_fini(&without);
}

void coati_finding_sandbox(const struct sandbox_support *s, struct finding *f)
{
	char landlock[64] = "no Landlock";

	if (s->landlock > 0)
		snprintf(landlock, sizeof(landlock), "Landlock version %d", s->landlock);
	put(f->found, "%s, %s%s%s", landlock,
	    s->seccomp == 0 ? "seccomp filters" : "no seccomp filters", s->why ? "; " : "",
	    s->why ? s->why : "");
	f->state = s->landlock > 0 && s->seccomp == 0 && !s->why ? FINDING_OK
		   : s->is_checked				 ? FINDING_LIMITED
								 : FINDING_MISSING;
	if (s->why)
		put(f->means,
		    s->is_checked
			    ? "a broker checks files for report, trace, export and other readers, "
			      "which are not confined"
			    : "report, trace, export and other readers are not "
			      "confined");
	else if (f->state == FINDING_MISSING)
		put(f->means, "report, trace, export and other readers are not confined");
	else if (f->state == FINDING_LIMITED)
		put(f->means, "readers are confined by the other mechanism only");
	if (s->why)
		put(f->remedy, "%s", s->remedy);
	else if (s->landlock <= 0)
		put(f->remedy, "boot Linux 5.13 or newer with CONFIG_SECURITY_LANDLOCK=y and "
			       "landlock in lsm=");
	else if (s->seccomp < 0)
		put(f->remedy, "boot a kernel with CONFIG_SECCOMP_FILTER=y");
}

static const struct {
	const char *topic;
	void (*check)(const struct coati_host *h, struct finding *f);
} checks[] = {
	{ "kernel", check_kernel },
	{ "perf events", check_self },
	{ "kernel part", check_kernel_part },
	{ "whole system", check_system },
	{ "paranoid", check_paranoid },
	{ "capabilities", check_caps },
	{ "container", check_container },
	{ "lockdown", check_lockdown },
	{ "sample rate", check_rate },
	{ "ring memory", check_mlock },
	{ "tracepoints", check_tracefs },
	{ "hardware", check_pmu },
	{ "PMUs", check_pmus },
	{ "kprobes", check_kprobes },
	{ "uprobes", check_uprobes },
	{ "BPF", check_bpf },
	{ "BTF", check_btf },
	{ "clock", check_clock },
	{ "kernel names", check_kernel_symbols },
	{ "unwinding", check_unwinding },
	{ "kernel stacks", check_kernel_stacks },
	{ "symbols", check_symbols },
	{ "sandbox", check_sandbox },
	{ "build", check_build },
};

const char *coati_finding_word(enum finding_state state)
{
	static const char *const words[] = { "unknown", "ok", "limited", "missing" };

	return words[state];
}

int coati_finding_get(const struct coati_host *host, uint32_t i, struct finding *ret)
{
	if (i >= sizeof(checks) / sizeof(checks[0]))
		return 0;
	*ret = (struct finding){ .topic = checks[i].topic };
	checks[i].check(host, ret);
	return 1;
}
