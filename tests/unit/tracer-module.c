/* SPDX-License-Identifier: MIT */
/* A library with a site of its own, for the tests of libraries that are unloaded while something of
 * theirs is open. */
#include <coati/live.h>

struct coati_site *coati_tracer_module_site(void);

COATI_API struct coati_site *coati_tracer_module_site(void)
{
	static struct coati_site site =
		COATI_SITE_FOR("", COATI_SITE_REGION, "", "of the library", NULL, 0, 0);

	return &site;
}
