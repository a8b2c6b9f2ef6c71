/* SPDX-License-Identifier: MIT */
/* see btf.h */
#include "capture/btf.h"

#include <string.h>

#include "bpf/btf.h"

static void set_name(const struct coati_btf *b, uint32_t off, char *ret)
{
	size_t len;
	const char *name = coati_btf_name(b, off, &len);

	if (len > BTF_NAME_BYTES - 1)
		len = BTF_NAME_BYTES - 1;
	memcpy(ret, name, len);
	ret[len] = '\0';
}

int coati_btf_func_names(const void *bytes, size_t size, struct btf_func *funcs, size_t nr)
{
	struct coati_btf_type t;
	struct coati_btf b;
	int r = coati_btf_open(bytes, size, &b);

	for (size_t i = 0; i < nr; i++)
		funcs[i].name[0] = '\0';
	if (r < 0)
		return r;
	for (uint32_t id = 1; (r = coati_btf_next(&b, &t)) > 0; id++)
		for (size_t i = 0; t.kind == COATI_BTF_FUNC && i < nr; i++)
			if (funcs[i].type_id == id)
				set_name(&b, t.name, funcs[i].name);
	return r;
}
