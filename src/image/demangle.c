/* SPDX-License-Identifier: MIT */
/* Tells the three manglings apart and calls the right reader. */
#include "image/demangle.h"

#include <coati/image.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool load_cxa(struct demangler *d)
{
	static const char *const names[] = { "libstdc++.so.6", "libc++abi.so.1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !d->tried; i++) {
		void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

		if (!lib)
			continue;
		*(void **)&d->cxa = dlsym(lib, "__cxa_demangle");
		dlclose(lib); /* it stays loaded */
		if (d->cxa)
			break;
	}
	d->tried = true;
	return d->cxa;
}

static bool demangle_cxx(struct demangler *d, const char *symbol, struct strbuf *out)
{
	int status = -1;
	char *text = load_cxa(d) ? d->cxa(symbol, NULL, NULL, &status) : NULL;
	bool ok = text && status == 0 && strlen(text) <= DEMANGLE_OUT_MAX;

	if (ok)
		coati_strbuf_adds(out, text);
	free(text); /* of the C++ runtime, not of base/alloc.h */
	return ok && !out->failed;
}

/* What compilers put behind a mangled name: foo.cold, foo.part.0, foo.llvm.123. */
static const char *find_suffix(const char *symbol)
{
	const char *dot = strchr(symbol, '.');

	return dot ? dot : symbol + strlen(symbol);
}

/* Take back what a reader wrote before it gave up. */
static void undo(struct strbuf *out, size_t before)
{
	if (out->cap) {
		out->len = before;
		out->text[before] = '\0';
	}
	if (out->failed != -ENOMEM)
		out->failed = 0;
}

static bool demangle_known(struct demangler *d, const char *symbol, struct strbuf *out)
{
	size_t before = out->len;
	bool ok;

	if (symbol[1] == 'R') {
		ok = coati_demangle_rust_v0(symbol, out) == 0;
	} else {
		ok = coati_demangle_rust_legacy(symbol, out) == 0;
		if (!ok) {
			undo(out, before);
			ok = demangle_cxx(d, symbol, out);
		}
	}
	/* a name of nothing is none */
	ok = ok && out->len > before;
	if (!ok)
		undo(out, before);
	return ok;
}

bool coati_demangle_name(struct demangler *d, const char *symbol, struct strbuf *out)
{
	char plain[DEMANGLE_IN_MAX + 1];
	const char *suffix;
	size_t before = out->len;

	if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R') ||
	    strnlen(symbol, DEMANGLE_IN_MAX + 1) > DEMANGLE_IN_MAX)
		return false;
	if (demangle_known(d, symbol, out))
		return true;
	suffix = find_suffix(symbol);
	if (!*suffix)
		return false;
	memcpy(plain, symbol, (size_t)(suffix - symbol));
	plain[suffix - symbol] = '\0';
	if (!demangle_known(d, plain, out))
		return false;
	/* .llvm.HASH tells nothing */
	if (strncmp(suffix, ".llvm.", 6) != 0)
		coati_strbuf_printf(out, " [%s]", suffix + 1);
	if (!out->failed)
		return true;
	undo(out, before);
	return false;
}

int coati_demangle(const char *symbol, char *buf, size_t cap)
{
	struct strbuf out = STRBUF_INIT(DEMANGLE_OUT_MAX + 64);
	struct demangler d = { 0 };
	const char *text = coati_demangle_name(&d, symbol, &out) ? out.text : symbol;
	size_t len = strlen(text);
	int r = -ENOSPC;

	if (len < cap && len <= INT32_MAX) {
		memcpy(buf, text, len + 1);
		r = (int)len;
	}
	coati_strbuf_fini(&out);
	return r;
}
