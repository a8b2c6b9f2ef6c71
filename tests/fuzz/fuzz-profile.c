/* SPDX-License-Identifier: MIT */
/* Any bytes as a recording, folded: whatever they say, no weight appears or vanishes between the
 * samples and the view. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/profile.h>

#include "fuzz/fuzz.h"
#include "profile/view.h"
#include "profile/walk.h"

/* Rows of every kind, and trees; what lies in no row does not count. */
static void ask(struct coati_view *v)
{
	struct coati_tree_query tree = { .size = sizeof(tree) };
	const struct coati_tree_node *nodes;
	const struct coati_row *rows;
	struct coati_view_info info = { .size = sizeof(info) };
	size_t nr;

	coati_view_info(v, &info);
	for (int by = 0; by < COATI_BY_COUNT; by++) {
		struct coati_rows_query q = { .size = sizeof(q),
					      .by = (enum coati_by)by,
					      .label = "cgroup" };
		uint64_t self = 0;

		if (coati_view_rows(v, &q, &rows, &nr, NULL) < 0)
			continue;
		for (size_t i = 0; i < nr; i++) {
			FUZZ_CHECK(rows[i].name && rows[i].self <= rows[i].total);
			if (__builtin_add_overflow(self, rows[i].self, &self))
				self = UINT64_MAX;
		}
		FUZZ_CHECK(self == info.total);
	}
	for (int kind = COATI_TREE_DOWN; kind <= COATI_TREE_UP; kind++) {
		tree.kind = (enum coati_tree_kind)kind;
		FUZZ_CHECK(coati_view_tree(v, &tree, &nodes, &nr, NULL) == 0);
		FUZZ_CHECK(!nr || nodes[0].total == info.total);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_images_opts images = { .size = sizeof(images), .procfs = "/nowhere" };
	struct coati_profile_opts opts = { .size = sizeof(opts), .images = &images };
	struct coati_view_entry e;
	struct coati_profile_quality quality = { .size = sizeof(quality) };
	struct coati_profile *p = NULL;
	struct coati_view *v = NULL;
	uint64_t samples = 0, pos = 0;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	images.flags = COATI_IMAGES_NO_CACHE | COATI_IMAGES_NO_LOCAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	    coati_profile_new(&opts, &p, NULL) == 0 &&
	    coati_profile_read(p, path, NULL, NULL, NULL) == 0 &&
	    coati_view_new(p, NULL, &v, NULL) == 0) {
		while (coati_view_next(v, &pos, &e) > 0)
			samples += e.entry->count;
		coati_profile_quality(p, &quality);
		/* what a view leaves out by itself, which it says in a note, is counted */
		FUZZ_CHECK(samples + v->nr_twice + v->nr_faults == quality.samples);
		ask(v);
	}
	coati_view_free(&v);
	coati_profile_free(&p);
	close(fd);
	return 0;
}
