/* SPDX-License-Identifier: MIT */
/* see twins.h */
#include "cli/twins.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"

struct named {
	dev_t device;
	ino_t inode;
	const char *name;
};

static int by_file(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

const char *coati_twin_find(const struct option_texts *files)
{
	CLEANUP(freep) struct named *v = coati_alloc_array(files->len + 1, sizeof(*v));
	struct stat st;
	size_t nr = 0;

	/* a database or standard input is no file of that name */
	for (size_t i = 0; v && i < files->len; i++)
		if (stat(files->v[i].text, &st) == 0)
			v[nr++] = (struct named){ st.st_dev, st.st_ino, files->v[i].text };
	if (nr)
		qsort(v, nr, sizeof(*v), by_file);
	for (size_t i = 1; i < nr; i++)
		if (by_file(&v[i - 1], &v[i]) == 0)
			return v[i].name;
	return NULL;
}
