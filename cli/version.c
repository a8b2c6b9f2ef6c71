/* SPDX-License-Identifier: MIT */
/* coati --version. */
#include "cli/version.h"

#include <dlfcn.h>
#include <stdbool.h>

#include <coati/version.h>

#include "cli/output.h"
#include "event/version.h"

static void add_features(struct strbuf *out, const char *title, int wanted)
{
	const char *name;
	int built;
	bool any = false;

	for (unsigned int i = 0; (name = coati_feature(i, &built)); i++) {
		if (!!built != wanted)
			continue;
		coati_strbuf_printf(out, "%s%s", any ? " " : title, name);
		any = true;
	}
	if (any)
		coati_strbuf_addc(out, '\n');
}

/* Libraries that are loaded when something needs them. */
static void add_libraries(struct strbuf *out)
{
	static const struct {
		const char *name, *what;
	} libraries[] = {
		{ "libz.so.1", "pprof files, compressed debug information" },
		{ "libzstd.so.1", "compressed recordings and debug information" },
		{ "liblzma.so.5", "MiniDebugInfo" },
		{ "libstdc++.so.6", "demangled C++ names" },
		{ "libdebuginfod.so.1", "--debuginfod" },
		{ "libbpf.so.1", "record -g bpf" },
		{ "libncursesw.so.6", "top" },
		{ "libcurl.so.4", "agent --clickhouse, --otlp and --push; clickhouse:// as input" },
	};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *handle = dlopen(libraries[i].name, RTLD_LAZY | RTLD_LOCAL);

		coati_strbuf_printf(out, "%-10s%-20s%s\n",
				    handle ? "uses:" : "missing:", libraries[i].name,
				    libraries[i].what);
		if (handle)
			dlclose(handle);
	}
}

int coati_show_version(void)
{
	struct output out;

	coati_output_init(&out, COLOR_NEVER);
	coati_strbuf_printf(&out.text, "coati %s\n", coati_version());
	add_features(&out.text, "built with: ", 1);
	add_features(&out.text, "built without: ", 0);
	add_libraries(&out.text);
	return coati_output_end(&out);
}
