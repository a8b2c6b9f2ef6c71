/* SPDX-License-Identifier: MIT */
/* Names an address of a file, with its lines and inlined functions: address FILE ADDRESS */
#include <coati/image.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = argc > 2 ? argv[1] : "" };
	struct coati_images_opts opts = { .size = sizeof(opts), .flags = COATI_IMAGES_MANGLED };
	struct coati_address a = { .vaddr = argc > 2 ? strtoull(argv[2], NULL, 16) : 0 };
	struct coati_images *images = NULL;
	struct coati_error err = { 0, 0, "" };
	char name[256];

	if (coati_images_new(&opts, &images, &err) < 0 ||
	    coati_images_get(images, &ref, &a.image, &err) < 0 ||
	    coati_images_resolve(images, &a, 1, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES, &err) <
		    0)
		fprintf(stderr, "address: %s\n", err.text);
	for (uint32_t i = 0; i < a.nr_names; i++) {
		/* they are as in the file: a name that is too long to demangle stays so */
		if (coati_demangle(a.names[i].function, name, sizeof(name)) < 0)
			snprintf(name, sizeof(name), "%s", a.names[i].function);
		printf("%s %s:%u\n", name, a.names[i].file ? a.names[i].file : "?",
		       a.names[i].line);
	}
	coati_images_free(&images);
	return err.code != 0;
}
