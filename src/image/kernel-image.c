/* SPDX-License-Identifier: MIT */
/*
 * Images of the kernel and of its modules: an address comes in, the function out of kallsyms goes
 * out, when kallsyms is that of the kernel that was recorded. Otherwise the reason is in `why`, and
 * the name of the image is all there is.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "image/image.h"

#define ALIGN_LEAST UINT64_C(0x10000) /* by which a kernel is moved at boot */

/* Where kallsyms says that the kernel begins, by the symbol that the recording took; 0: not
 * known. */
static uint64_t start_here(const struct coati_image *im)
{
	const struct kernel *k = &im->all->kernel;
	const char *symbol = strrchr(im->path, ']');

	if (symbol && !strcmp(symbol + 1, "_stext"))
		return k->stext_start;
	if (im->map_start == k->stext_start)
		return k->stext_start;
	return k->text_start ? k->text_start : k->stext_start;
}

/* Is it the same kernel, and where did it lie? */
static void compare_kernels(struct coati_image *im)
{
	const struct kernel *k = &im->all->kernel;
	bool both = k->build_id_size && im->build_id_size;
	bool same = both && k->build_id_size == im->build_id_size &&
		    !memcmp(k->build_id, im->build_id, k->build_id_size);
	uint64_t here = start_here(im);

	/* the build id of a module is its own; whether its addresses fit is seen by its name */
	if (im->kind == COATI_IMAGE_MODULE) {
		im->kernel_fits = true;
		return;
	}
	if (both && !same) {
		coati_image_blame(
			im, "the recording was made on another kernel than the one that runs here");
		return;
	}
	if (im->map_start && here && im->map_start != here) {
		im->kernel_shift = im->map_start - here;
		if (!same || im->kernel_shift % ALIGN_LEAST) {
			coati_image_blame(
				im,
				"the kernel was at another address when this was recorded, and no "
				"build ID shows that it is the same");
			return;
		}
	}
	im->kernel_fits = true;
}

static int read_kernel(struct coati_images *all)
{
	char path[IMAGE_PATH_MAX];

	snprintf(path, sizeof(path), "%s/kallsyms", all->procfs);
	return coati_kernel_read(&all->kernel, all->kallsyms ? all->kallsyms : path);
}

int coati_images_read_kernel(struct coati_images *all)
{
	coati_kernel_fini(&all->kernel);
	return read_kernel(all);
}

int coati_image_load_kernel(struct coati_image *im)
{
	struct coati_images *all = im->all;
	int r = 0;

	if (all->flags & COATI_IMAGES_NO_LOCAL && !all->kallsyms) {
		coati_image_blame(im, "local files are disabled");
		return 0;
	}
	pthread_mutex_lock(&all->lock);
	if (!all->kernel.tried)
		r = read_kernel(all);
	pthread_mutex_unlock(&all->lock);
	if (r < 0)
		return r;
	if (all->kernel.err.code)
		coati_image_blame(im, "%s", all->kernel.err.text);
	else
		compare_kernels(im);
	/* it lay elsewhere: other addresses are looked for than were asked for */
	if (im->kernel_shift && all->kernel.near.nr) {
		pthread_mutex_lock(&all->lock);
		r = coati_images_read_kernel(all);
		pthread_mutex_unlock(&all->lock);
	}
	return r;
}

/* A module answers for its own addresses alone; the kernel for all, because not every recorder
 * tells modules apart. */
static const struct symbol *find_symbol(const struct coati_image *im, uint64_t addr)
{
	const char *module = "";
	const struct symbol *s = NULL;

	if (im->kernel_fits)
		s = coati_kernel_find(&im->all->kernel, addr - im->kernel_shift, &module);
	if (s && im->kind == COATI_IMAGE_MODULE && strcmp(module, im->name) != 0)
		return NULL;
	/* modules were not moved along with the kernel */
	if (s && *module && im->kernel_shift)
		return NULL;
	return s;
}

static int name_symbol(struct coati_image *im, const struct symbol *s, struct coati_name *n)
{
	char *name =
		coati_arena_strdup(&im->arena, coati_symbols_name(&im->all->kernel.symbols, s));

	if (!name)
		return -ENOMEM;
	coati_make_printable(name);
	n->symbol = name;
	n->function = coati_image_readable(im, name);
	n->start = s->start + im->kernel_shift;
	n->length = symbol_size(s);
	n->flags = s->size & SYMBOL_ALIASED ? COATI_NAME_ALIASED : 0;
	return n->function ? 0 : -ENOMEM;
}

int coati_image_kernel_function(struct coati_image *im, uint64_t addr,
				const struct coati_name **ret)
{
	const struct symbol *s = find_symbol(im, addr);
	uint64_t key = s ? s->start : UINT64_MAX, found;
	struct coati_name *n;
	int r = 0;

	if (coati_map_get(&im->functions, key, &found)) {
		*ret = (const struct coati_name *)(uintptr_t)found;
		return 0;
	}
	n = coati_arena_alloc(&im->arena, sizeof(*n));
	if (!n)
		return -ENOMEM;
	if (s) {
		r = name_symbol(im, s, n);
	} else {
		n->function = im->name;
		n->flags = COATI_NAME_SYNTHETIC;
	}
	if (r == 0 && coati_map_put(&im->functions, key, (uintptr_t)n) == -ENOMEM)
		r = -ENOMEM;
	if (r == 0)
		*ret = n;
	return r;
}
