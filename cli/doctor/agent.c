/* SPDX-License-Identifier: MIT */
/* What coati agent needs besides: see finding.h. */
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/machine.h"
#include "capture/session.h"
#include "cli/doctor/finding.h"

#define CAP_OF_BPF 39

static void put(char to[FINDING_TEXT], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void put(char to[FINDING_TEXT], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to, FINDING_TEXT, fmt, ap);
	va_end(ap);
}

static bool has_cap(const struct coati_host *h, int cap)
{
	return h->caps_effective >> cap & 1;
}

static void check_machine(const struct coati_host *h, struct finding *f)
{
	f->state = h->software_cpu == 0 ? FINDING_OK : FINDING_MISSING;
	put(f->found, h->software_cpu == 0 ? "all CPUs can be sampled"
					   : "CPUs cannot be sampled, only own processes");
	if (f->state == FINDING_OK)
		return;
	put(f->means, "coati agent does not start");
	put(f->remedy, "sudo setcap cap_perfmon,cap_bpf,cap_sys_ptrace=ep $(command -v coati), or "
		       "the service file coati-agent.service");
}

static void check_stacks(const struct coati_host *h, struct finding *f)
{
	struct coati_error why = { 0 };

	f->state = coati_capture_probe_bpf(&why) < 0 ? FINDING_LIMITED : FINDING_OK;
	put(f->found, f->state == FINDING_OK ? "walked in the kernel" : "not walked in the kernel");
	if (f->state == FINDING_OK)
		return;
	put(f->means, "stacks are unwound from copies, which costs more");
	put(f->remedy, "%s", has_cap(h, CAP_OF_BPF) ? why.text : "add CAP_BPF and CAP_PERFMON");
}

/* Mappings of processes tell what code their addresses are of. */
static void check_mappings(const struct coati_host *h, struct finding *f)
{
	bool may = has_cap(h, CAP_SYS_PTRACE);

	f->state = may ? FINDING_OK : FINDING_LIMITED;
	put(f->found, may ? "of all users can be read" : "of own processes can be read");
	if (may)
		return;
	put(f->means,
	    "other users' processes that started before the agent show addresses, not names");
	put(f->remedy, "add CAP_SYS_PTRACE");
}

static void check_cgroups(const struct coati_host *h, struct finding *f)
{
	char path[AGENT_CGROUP_MAX];
	bool unified = access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0;
	bool any = coati_machine_cgroup_of(getpid(), path) == 0;

	(void)h;
	f->state = unified ? FINDING_OK : any ? FINDING_LIMITED : FINDING_MISSING;
	put(f->found, unified ? "one hierarchy (version 2)"
		      : any   ? "several hierarchies (version 1)"
			      : "there are none");
	if (f->state == FINDING_LIMITED)
		put(f->means, "windows have services, recordings in --store may not");
	if (f->state == FINDING_MISSING)
		put(f->means, "a service is the name of its program");
}

static void check_pressure(const struct coati_host *h, struct finding *f)
{
	double value;

	(void)h;
	f->state = coati_machine_pressure("cpu", &value) == 0 ? FINDING_OK : FINDING_LIMITED;
	put(f->found,
	    f->state == FINDING_OK ? "reported by the kernel" : "not reported by the kernel");
	if (f->state == FINDING_OK)
		return;
	put(f->means, "--when psi.cpu, psi.io and psi.memory do not work");
	put(f->remedy, "boot with psi=1 (CONFIG_PSI=y)");
}

static void check_delay(const struct coati_host *h, struct finding *f)
{
	uint64_t ns;

	(void)h;
	f->state = coati_machine_all_delay(&ns) == 0 ? FINDING_OK : FINDING_LIMITED;
	put(f->found,
	    f->state == FINDING_OK ? "reported by the kernel" : "not reported by the kernel");
	if (f->state == FINDING_LIMITED)
		put(f->means, "services have no run delay, --when run-delay does not work");
}

static const struct {
	const char *topic;
	void (*check)(const struct coati_host *h, struct finding *f);
} checks[] = {
	{ "machine", check_machine },	{ "stacks", check_stacks },
	{ "mappings", check_mappings }, { "cgroups", check_cgroups },
	{ "pressure", check_pressure }, { "run delay", check_delay },
};

int coati_finding_agent(const struct coati_host *host, uint32_t i, struct finding *ret)
{
	if (i >= sizeof(checks) / sizeof(checks[0]))
		return 0;
	*ret = (struct finding){ .topic = checks[i].topic };
	checks[i].check(host, ret);
	return 1;
}
