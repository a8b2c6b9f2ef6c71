/* SPDX-License-Identifier: MIT */
/*
 * Addresses of one file in, their frames out, as a symbolizer prints them: function, file and line,
 * the innermost first, an empty line behind each address.
 *
 *	bench-inlines FILE ADDRESS...
 */
#include <stdio.h>
#include <stdlib.h>

#include <coati/image.h>

static void print(const struct coati_address *a)
{
	for (uint32_t i = 0; i < a->nr_names; i++) {
		const struct coati_name *n = &a->names[i];

		printf("%s\n%s:%u:%u\n", n->function, n->file ? n->file : "??", n->line, n->column);
	}
	putchar('\n');
}

static int resolve(struct coati_images *images, const char *path, char **words, size_t nr)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = path };
	struct coati_address *a = calloc(nr, sizeof(*a));
	struct coati_error err = { 0 };
	uint32_t image = 0;
	int r = a ? coati_images_get(images, &ref, &image, &err) : -1;

	for (size_t i = 0; i < nr && r == 0; i++) {
		a[i].image = image;
		a[i].vaddr = strtoull(words[i], NULL, 16);
	}
	if (r == 0)
		r = coati_images_resolve(images, a, nr, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES,
					 &err);
	for (size_t i = 0; i < nr && r == 0; i++)
		print(&a[i]);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, err.text);
	free(a);
	return r < 0;
}

int main(int argc, char **argv)
{
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_CACHE };
	struct coati_images *images;
	int r;

	if (argc < 3 || coati_images_new(&o, &images, NULL) < 0)
		return 2;
	r = resolve(images, argv[1], argv + 2, (size_t)(argc - 2));
	coati_images_free(&images);
	return r;
}
