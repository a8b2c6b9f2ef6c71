/* SPDX-License-Identifier: MIT */
/* /debug/pprof/symbol: pprof asks for some addresses, each with a plus sign between; one line for
 * each that has a name. Symbol tables are read for it, which may take a while. */
#include <inttypes.h>
#include <string.h>

#include "base/parse.h"
#include "live/pprof/maps.h"
#include "live/serve-pages.h"

static void put_name(struct live_maps *maps, const char *word, struct strbuf *ret)
{
	struct live_mapping *m;
	uint64_t address, into;
	const char *name;

	if (coati_parse_u64(word, 1, UINT64_MAX, &address) < 0)
		return;
	m = coati_maps_find(maps, address);
	name = m ? coati_maps_name(maps, m, address, &into) : NULL;
	if (!name)
		return;
	coati_strbuf_printf(ret, "%s\t", word);
	coati_strbuf_clean(ret, name, strlen(name));
	coati_strbuf_addc(ret, '\n');
}

static void make_symbol(struct page_job *job)
{
	const char *at = job->text;
	struct live_maps maps;
	char word[24];
	size_t size;

	if (coati_maps_open(&maps) < 0) {
		coati_page_fail(job, 500, "cannot read the memory mappings");
		return;
	}
	coati_strbuf_adds(job->body, "num_symbols: 1\n"); /* any number but 0: names are here */
	for (; *at; at += size + (at[size] != 0)) {
		size = strcspn(at, "+ \r\n");
		if (!size || size >= sizeof(word))
			continue;
		memcpy(word, at, size);
		word[size] = 0;
		put_name(&maps, word, job->body);
	}
	coati_maps_close(&maps);
}

const struct live_page coati_serve_symbol = { "symbol", "names of addresses, for pprof", NULL,
					      make_symbol, 0 };
