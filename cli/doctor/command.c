/* SPDX-License-Identifier: MIT */
/*
 * coati doctor: what this machine allows, line by line: ok, limited or missing, with the
 * consequence and the exact remedy. Ends with 0 when recording works at least for own processes.
 */
#include <stdio.h>
#include <string.h>

#include <coati/version.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/doctor/finding.h"
#include "cli/output.h"
#include "event/host.h"

struct args {
	bool json, agent;
	int color;
};

static const struct option opts[] = {
	OPT_FLAG('j', "json", struct args, json, "print JSON (schema coati.doctor.v1)"),
	OPT_FLAG(0, "agent", struct args, agent, "check what coati agent needs instead"),
	OPT_CHOICE(0, "color", struct args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati doctor", "check this machine" },
	{ "coati doctor --agent", "what coati agent needs" },
	{ "coati doctor > /dev/null && echo ready", "status 0: own processes can be recorded" },
	{ NULL, NULL },
};

typedef int (*finding_fn)(const struct coati_host *host, uint32_t i, struct finding *ret);

static void write_text(struct output *out, const struct coati_host *host, finding_fn get)
{
	static const enum output_style styles[] = { STYLE_DIM, STYLE_GREEN, STYLE_YELLOW,
						    STYLE_RED };
	const char *plain = coati_output_style(out, STYLE_PLAIN);
	uint32_t nr[4] = { 0 };
	struct finding f;

	for (uint32_t i = 0; get(host, i, &f); i++) {
		nr[f.state]++;
		coati_strbuf_printf(&out->text, "%s%-8s%s%-14s",
				    coati_output_style(out, styles[f.state]),
				    coati_finding_word(f.state), plain, f.topic);
		coati_strbuf_clean(&out->text, f.found, strlen(f.found));
		coati_strbuf_addc(&out->text, '\n');
		if (f.means[0])
			coati_strbuf_printf(&out->text, "%22s%s\n", "", f.means);
		if (f.remedy[0])
			coati_strbuf_printf(&out->text, "%20s> %s%s%s\n", "",
					    coati_output_style(out, STYLE_BOLD), f.remedy, plain);
	}
	coati_strbuf_printf(&out->text, "\n%u ok, %u limited, %u missing: recording %s\n",
			    nr[FINDING_OK], nr[FINDING_LIMITED], nr[FINDING_MISSING],
			    host->software_self ? "does not work here"
			    : host->software_self_kernel
				    ? "works for the user space of own processes"
			    : host->software_cpu ? "works for own processes"
						 : "works for the whole machine");
}

static void facts_json(struct json *j, const struct coati_host *h)
{
#define FACT(name)             \
	{                      \
#name, h->name \
	}
	const struct {
		const char *name;
		int64_t value;
	} facts[] = {
		FACT(paranoid),
		FACT(kptr_restrict),
		FACT(max_sample_rate),
		FACT(max_stack),
		FACT(mlock_kb),
		FACT(memlock_bytes),
		FACT(cpu_time_max_percent),
		FACT(nr_cpus_online),
		FACT(nr_cpus_possible),
		FACT(seccomp),
		FACT(container),
		FACT(uid),
		FACT(user_namespace),
		FACT(tracefs_readable),
		FACT(has_pmu),
		FACT(kprobes),
		FACT(uprobes),
		FACT(bpf),
		FACT(unprivileged_bpf),
		FACT(btf),
		FACT(kallsyms),
		FACT(cycles_invariant),
		FACT(cycles_hz),
		FACT(lsm_lockdown),
		FACT(yama_ptrace),
		FACT(software_self),
		FACT(software_self_kernel),
		FACT(software_cpu),
		FACT(tracepoint_raw),
		FACT(attr_size),
	};
#undef FACT

	coati_json_key(j, "facts");
	coati_json_object(j);
	coati_json_kstr(j, "kernel", h->kernel);
	coati_json_kstr(j, "container_hint", h->container_hint);
	coati_json_kstr(j, "tracefs", h->tracefs);
	coati_json_kstr(j, "pmus", h->pmus);
	coati_json_kstr(j, "clocksource", h->clocksource);
	coati_json_key(j, "caps_effective");
	coati_json_hex(j, h->caps_effective);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		coati_json_key(j, facts[i].name);
		if (facts[i].value == COATI_HOST_UNKNOWN)
			coati_json_null(j);
		else
			coati_json_i64(j, facts[i].value);
	}
	coati_json_end(j);
}

static void write_json(struct output *out, const struct coati_host *host, finding_fn get)
{
	struct json j = json_to(&out->text);
	struct finding f;

	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.doctor.v1");
	coati_json_kstr(&j, "version", coati_version());
	coati_json_kbool(&j, "ok", !host->software_self);
	coati_json_key(&j, "checks");
	coati_json_array(&j);
	for (uint32_t i = 0; get(host, i, &f); i++) {
		coati_json_object(&j);
		coati_json_kstr(&j, "topic", f.topic);
		coati_json_kstr(&j, "state", coati_finding_word(f.state));
		coati_json_kstr(&j, "found", f.found);
		coati_json_kstr(&j, "means", f.means);
		coati_json_kstr(&j, "remedy", f.remedy);
		coati_json_end(&j);
	}
	coati_json_end(&j);
	facts_json(&j, host);
	coati_json_end(&j);
	coati_strbuf_addc(&out->text, '\n');
}

static int run(int argc, char **argv)
{
	struct option_line line = { .argc = argc, .argv = argv };
	struct args args = { 0 };
	struct coati_host host;
	struct output out;
	char quoted[64];
	finding_fn get;
	int64_t missing;
	int ret;

	if (!coati_command_parse(&coati_command_doctor, &line, &args, &ret))
		return ret;
	if (line.argc)
		return coati_command_misuse(&coati_command_doctor, "unexpected argument %s",
					    coati_quote(line.argv[0], quoted, sizeof(quoted)));
	coati_host_read(&host);
	get = args.agent ? coati_finding_agent : coati_finding_get;
	missing = args.agent ? host.software_cpu : host.software_self;
	coati_output_init(&out, args.color);
	if (args.json)
		write_json(&out, &host, get);
	else
		write_text(&out, &host, get);
	ret = coati_output_end(&out);
	return ret || missing ? EXIT_FAILED : EXIT_DONE;
}

const struct coati_command coati_command_doctor = {
	.name = "doctor",
	.summary = "check what this machine allows and how to allow more",
	.usage = "[options]",
	.options = opts,
	.examples = examples,
	.run = run,
};
