/* SPDX-License-Identifier: MIT */
/* Prints the call tree of a recording, functions with at least 5 % of the weight, and what limits
 * the data: tree [FILE] */
#include <coati/profile.h>

#include <stdio.h>

static void print_quality(const struct coati_profile *profile)
{
	struct coati_profile_quality quality = { .size = sizeof(quality) };
	const struct coati_profile_event *event;
	const char *note;
	char line[256];

	coati_profile_quality(profile, &quality);
	coati_profile_quality_format(&quality, line, sizeof(line));
	printf("%s\n", line);
	for (uint32_t i = 0; (event = coati_profile_event(profile, i)); i++)
		printf("%llu samples of %s\n", (unsigned long long)event->samples, event->name);
	for (uint32_t i = 0; (note = coati_profile_note(profile, i)); i++)
		printf("%s\n", note);
}

static void print_tree(const struct coati_view *view, const struct coati_tree_node *nodes,
		       size_t nr)
{
	const struct coati_view_frame *frame;

	for (size_t i = 0; i < nr; i++) { /* a parent comes before its children */
		if (nodes[i].total * 20 < nodes[0].total)
			continue;
		frame = coati_view_frame(view, nodes[i].frame); /* NULL: the root */
		printf("%5.1f %%%*s %s (%s)\n",
		       100.0 * (double)nodes[i].total / (double)nodes[0].total,
		       (int)(2 * nodes[i].depth), "", nodes[i].name, frame ? frame->image : "");
	}
}

int main(int argc, char **argv)
{
	struct coati_tree_query q = { .size = sizeof(q), .flags = COATI_TREE_FOLD };
	const struct coati_tree_node *nodes;
	struct coati_profile *profile = NULL;
	struct coati_view *view = NULL;
	struct coati_error err = { 0 };
	size_t nr;

	if (coati_profile_new(NULL, &profile, &err) == 0 &&
	    coati_profile_read(profile, argc > 1 ? argv[1] : "coati.data", NULL, NULL, &err) == 0 &&
	    coati_view_new(profile, NULL, &view, &err) == 0 &&
	    coati_view_tree(view, &q, &nodes, &nr, &err) == 0) {
		print_quality(profile);
		print_tree(view, nodes, nr);
	}
	if (err.code)
		fprintf(stderr, "tree: %s\n", err.text);
	coati_view_free(&view);
	coati_profile_free(&profile);
	return err.code != 0;
}
