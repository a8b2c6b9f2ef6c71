/* SPDX-License-Identifier: MIT */
/* Who we are: the version, and the optional parts that this build has. */
#include <coati/version.h>

#include <stddef.h>

#include "build-config.h"
#include "event/version.h"

static const struct {
	const char *name;
	int built;
} features[] = {
	{ "libbpf", COATI_HAVE_LIBBPF },   { "libcurl", COATI_HAVE_LIBCURL },
	{ "ncurses", COATI_HAVE_NCURSES }, { "zlib", COATI_HAVE_ZLIB },
	{ "zstd", COATI_HAVE_ZSTD },
};

const char *coati_version(void)
{
	return COATI_VERSION_STRING;
}

const char *coati_feature(unsigned int i, int *ret_built)
{
	if (i >= sizeof(features) / sizeof(features[0]))
		return NULL;
	if (ret_built)
		*ret_built = features[i].built;
	return features[i].name;
}
