/* SPDX-License-Identifier: MIT */
/*
 * The list of images. References come in, numbers go out: what is the same file by build ID and
 * path, or by path, device and inode, has one number. A copy under another path has one of its own,
 * but shares what is known about the code. Nothing is opened here.
 */
#include "image/image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "image/open.h"

#define THREADS_MAX   8
#define CACHE_BYTES   (UINT64_C(256) << 20)
#define KEY_BYTES_MAX (IMAGE_PATH_MAX + 256)
#define DELETED	      " (deleted)"

static bool copy_texts(struct coati_images *images, const struct coati_images_opts *o)
{
	const char *from[] = { o->root ? o->root : "",
			       o->debug_dirs ? o->debug_dirs : "/usr/lib/debug", o->cache_dir,
			       o->kallsyms, o->procfs ? o->procfs : "/proc" };
	const char **to[] = { &images->root, &images->debug_dirs, &images->cache_dir,
			      &images->kallsyms, &images->procfs };

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		if (!from[i])
			continue;
		*to[i] = coati_arena_strdup(&images->arena, from[i]);
		if (!*to[i])
			return false;
	}
	return true;
}

static uint32_t default_threads(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (uint32_t)cpus;
}

int coati_images_new(const struct coati_images_opts *opts, struct coati_images **ret,
		     struct coati_error *err)
{
	struct coati_images_opts o;
	struct coati_images *images;
	int r = SIZED_COPY(&o, opts);

	if (r < 0)
		return coati_fail(err, r, "options of images: wrong size or unknown option");
	images = coati_alloc(sizeof(*images));
	if (!images)
		return coati_fail(err, -ENOMEM, "out of memory");
	images->v.max = IMAGES_MAX;
	images->flags = o.flags;
	images->nr_threads = o.nr_threads ? o.nr_threads : default_threads();
	images->cache_bytes = o.cache_bytes ? o.cache_bytes : CACHE_BYTES;
	pthread_mutex_init(&images->lock, NULL);
	coati_arena_init(&images->arena, IMAGE_ARENA_MAX);
	coati_map_init_strings(&images->by_key, 4 * (size_t)IMAGES_MAX);
	if (!copy_texts(images, &o)) {
		coati_images_free(&images);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	*ret = images;
	return 0;
}

static void image_free(struct coati_image *im)
{
	coati_plt_fini(&im->plt);
	coati_image_jit_fini(im);
	coati_fdes_fini(&im->fdes);
	coati_symbols_fini(&im->symbols);
	coati_free(im->near.v);
	coati_copy_close(&im->mini);
	coati_copy_close(&im->debug_file);
	coati_copy_close(&im->file);
	fd_closep(&im->held_fd);
	coati_map_fini(&im->readable);
	coati_map_fini(&im->texts);
	coati_map_fini(&im->functions);
	coati_map_fini(&im->answers);
	coati_versions_fini(&im->told);
	coati_versions_fini(&im->made);
	coati_arena_fini(&im->arena);
	coati_free(im);
}

void coati_images_free(struct coati_images **images)
{
	struct coati_images *all = *images;

	if (!all)
		return;
	for (size_t i = 0; i < all->v.len; i++)
		image_free(all->v.v[i]);
	ARRAY_FINI(&all->v);
	coati_kernel_fini(&all->kernel);
	coati_map_fini(&all->by_key);
	coati_arena_fini(&all->arena);
	pthread_mutex_destroy(&all->lock);
	coati_free(all);
	*images = NULL;
}

/* ---- keys ---- */

static bool is_of_process(enum coati_image_kind kind)
{
	return kind == COATI_IMAGE_JIT || kind == COATI_IMAGE_ANON;
}

static void key_by_id(struct strbuf *s, const struct coati_image_ref *ref)
{
	coati_strbuf_clear(s);
	coati_strbuf_printf(s, "id %d ", (int)ref->kind);
	for (uint32_t i = 0; i < ref->build_id_size; i++)
		coati_strbuf_printf(s, "%02x", ref->build_id[i]);
}

/* Without the note that the kernel adds to the path of a file that is gone. */
static size_t path_length(const char *path)
{
	size_t len = strlen(path), tail = strlen(DELETED);

	return len > tail && !strcmp(path + len - tail, DELETED) ? len - tail : len;
}

/* Of files alone, and where there is a path: everything else with one ID is one thing. */
static bool has_copies(const struct coati_image_ref *ref)
{
	return ref->kind == COATI_IMAGE_FILE && *ref->path;
}

static void key_by_id_and_path(struct strbuf *s, const struct coati_image_ref *ref)
{
	key_by_id(s, ref);
	if (has_copies(ref))
		coati_strbuf_printf(s, " %.*s", (int)path_length(ref->path), ref->path);
}

static void key_by_place(struct strbuf *s, const struct coati_image_ref *ref)
{
	coati_strbuf_clear(s);
	if (is_of_process(ref->kind))
		coati_strbuf_printf(s, "process %d %d", (int)ref->kind, ref->pid);
	else
		coati_strbuf_printf(s, "file %d %u:%u %llu %llu %s", (int)ref->kind, ref->maj,
				    ref->min, (unsigned long long)ref->ino,
				    (unsigned long long)ref->ino_generation, ref->path);
}

static int put_key(struct coati_images *images, const struct strbuf *key, uint64_t image)
{
	const char *copy = coati_arena_strndup(&images->arena, key->text, key->len);

	return copy ? coati_map_put_str(&images->by_key, copy, image) : -ENOMEM;
}

/* ---- names of images ---- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz" and "[ext4]" are both "[ext4]". */
static char *module_name(struct coati_images *images, const char *path)
{
	const char *name = file_name(path);
	const char *end = strstr(name, ".ko");

	if (*name == '[' || !end)
		return coati_arena_strdup(&images->arena, name);
	return coati_arena_printf(&images->arena, "[%.*s]", (int)(end - name), name);
}

static char *short_name(struct coati_images *images, const struct coati_image_ref *ref)
{
	struct arena *a = &images->arena;
	size_t len = path_length(ref->path);

	switch (ref->kind) {
	case COATI_IMAGE_KERNEL:
		return coati_arena_strdup(a, "[kernel]");
	case COATI_IMAGE_MODULE:
		return module_name(images, ref->path);
	case COATI_IMAGE_VDSO:
		return coati_arena_strdup(a, "[vdso]");
	case COATI_IMAGE_BPF:
		return coati_arena_strdup(a, "[bpf]");
	case COATI_IMAGE_JIT:
		return coati_arena_printf(a, "[jit pid %d]", ref->pid);
	case COATI_IMAGE_ANON:
		return coati_arena_printf(a, "[anon pid %d]", ref->pid);
	default:
		break;
	}
	if (!len)
		return coati_arena_strdup(a, "[unknown]");
	return coati_arena_strndup(a, file_name(ref->path),
				   len - (size_t)(file_name(ref->path) - ref->path));
}

/* ---- adding ---- */

static int add_image(struct coati_images *images, const struct coati_image_ref *ref,
		     uint32_t *ret_image)
{
	struct coati_image **slot, *im;
	char *name;

	if (images->v.len >= (images->most ? images->most : IMAGES_MAX)) {
		images->over++;
		return -E2BIG;
	}
	im = coati_alloc(sizeof(*im));
	slot = im ? ARRAY_ADD(&images->v) : NULL;
	if (!slot) {
		coati_free(im);
		return -ENOMEM;
	}
	*slot = im;
	*im = (struct coati_image){ .all = images,
				    .kind = ref->kind,
				    .build_id_size = ref->build_id_size,
				    .pid = ref->pid,
				    .held_fd = -1,
				    .maj = ref->maj,
				    .min = ref->min,
				    .map_start = ref->map_start,
				    .map_end = ref->map_end,
				    .ino = ref->ino,
				    .ino_generation = ref->ino_generation };
	memcpy(im->build_id, ref->build_id, sizeof(im->build_id));
	coati_arena_init(&im->arena, IMAGE_ARENA_MAX);
	coati_map_init(&im->answers, IMAGE_ANSWERS_MAX);
	coati_versions_init(&im->told, IMAGE_ANSWERS_MAX);
	coati_versions_init(&im->made, IMAGE_ANSWERS_MAX);
	coati_map_init(&im->functions, IMAGE_ANSWERS_MAX);
	coati_map_init_strings(&im->texts, IMAGE_ANSWERS_MAX);
	coati_map_init(&im->readable, IMAGE_ANSWERS_MAX);
	coati_symbols_init(&im->symbols);
	im->path = coati_arena_strdup(&images->arena, ref->path);
	name = short_name(images, ref);
	if (!im->path || !name) {
		images->v.len--;
		image_free(im);
		return -ENOMEM;
	}
	coati_make_printable(name);
	im->name = name;
	*ret_image = (uint32_t)images->v.len - 1;
	return 0;
}

/* A later mapping of the same file may be of a process that still lives. */
static void learn(struct coati_image *im, const struct coati_image_ref *ref)
{
	if (im->looked || is_of_process(im->kind))
		return;
	if (!im->build_id_size && ref->build_id_size) {
		im->build_id_size = ref->build_id_size;
		memcpy(im->build_id, ref->build_id, sizeof(im->build_id));
	}
	if (ref->pid && (!im->pid || (!im->map_end && ref->map_end))) {
		im->pid = ref->pid;
		im->map_start = ref->map_start;
		im->map_end = ref->map_end;
	}
}

/* The image that @ref names, by id or by place. @key is left at the place unless the id was
 * found. */
static bool find_image(struct coati_images *images, const struct coati_image_ref *ref, bool has_id,
		       struct strbuf *key, uint64_t *ret)
{
	if (has_id) {
		key_by_id_and_path(key, ref);
		if (coati_map_get_str(&images->by_key, key->text, ret))
			return true;
	}
	key_by_place(key, ref);
	if (key->failed || !coati_map_get_str(&images->by_key, key->text, ret))
		return false;
	/* with an id, and nothing but a path to go by, it may be another file of the same name */
	return !has_id || (ref->ino && !images->v.v[*ret]->build_id_size);
}

/* The first with a key keeps it. */
static int claim_key(struct coati_images *images, const struct strbuf *key, uint64_t image)
{
	uint64_t other;

	if (key->failed)
		return key->failed;
	if (coati_map_get_str(&images->by_key, key->text, &other))
		return 0;
	return put_key(images, key, image);
}

static int get_with_keys(struct coati_images *images, const struct coati_image_ref *ref,
			 struct strbuf *key, uint32_t *ret_image)
{
	bool has_id = ref->build_id_size && !is_of_process(ref->kind);
	uint64_t found = 0, first;
	uint32_t image = 0;
	int r = 0;

	if (!find_image(images, ref, has_id, key, &found)) {
		r = key->failed ? key->failed : add_image(images, ref, &image);
		if (r < 0)
			return r;
		found = image;
		r = claim_key(images, key, image);
	}
	learn(images->v.v[found], ref);
	if (has_id && r >= 0) {
		key_by_id_and_path(key, ref);
		r = claim_key(images, key, found);
	}
	if (has_id && r >= 0) {
		key_by_id(key, ref);
		r = claim_key(images, key, found);
		if (coati_map_get_str(&images->by_key, key->text, &first) && first != found)
			images->v.v[found]->same = images->v.v[first];
	}
	*ret_image = (uint32_t)found;
	return r < 0 ? r : 0;
}

int coati_images_get(struct coati_images *images, const struct coati_image_ref *ref,
		     uint32_t *ret_image, struct coati_error *err)
{
	struct strbuf key = STRBUF_INIT(KEY_BYTES_MAX);
	struct coati_image_ref copy;
	uint32_t image = 0;
	int r = ref ? SIZED_COPY(&copy, ref) : -EINVAL;

	if (r < 0 || copy.build_id_size > COATI_BUILD_ID_MAX || copy.kind > COATI_IMAGE_ANON)
		return coati_fail(err, r < 0 ? r : -EINVAL,
				  "reference to an image: wrong size, kind or length of the id");
	if (!copy.path)
		copy.path = "";
	if (strlen(copy.path) > IMAGE_PATH_MAX)
		return coati_fail(err, -E2BIG, "the path of a mapped file is over %d bytes long",
				  IMAGE_PATH_MAX);
	r = get_with_keys(images, &copy, &key, &image);
	coati_strbuf_fini(&key);
	if (r == -E2BIG)
		return coati_fail(err, r, "more than %zu files are mapped", images->v.len);
	if (r < 0)
		return coati_fail(err, r, "out of memory");
	*ret_image = image;
	return 0;
}

void coati_images_allow(struct coati_images *images, uint64_t most)
{
	uint64_t limit = most < IMAGES_MAX ? most : IMAGES_MAX;

	if (limit > images->most)
		images->most = limit;
}

uint64_t coati_images_over(const struct coati_images *images)
{
	return images->over;
}

uint32_t coati_images_count(const struct coati_images *images)
{
	return (uint32_t)images->v.len;
}

struct coati_image *coati_image_at(const struct coati_images *images, uint32_t image)
{
	return image < images->v.len ? images->v.v[image] : NULL;
}

void coati_image_blame(struct coati_image *im, const char *fmt, ...)
{
	char text[COATI_ERROR_TEXT];
	va_list ap;

	if (im->why)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	coati_make_printable(text);
	im->why = coati_arena_strdup(&im->arena, text);
}

int coati_image_info(struct coati_images *images, uint32_t image, struct coati_image_info *ret)
{
	const struct coati_image *im = coati_image_at(images, image);

	struct coati_image_info info = { .size = sizeof(info) };

	if (!im)
		return -EINVAL;
	info = (struct coati_image_info){ .kind = im->kind,
					  .build_id_size = im->build_id_size,
					  .build_id = im->build_id,
					  .path = im->path,
					  .name = im->name,
					  .opened = im->opened,
					  .debug = im->debug,
					  .why = im->why,
					  .nr_symbols = (uint32_t)im->symbols.nr,
					  .is_packed = im->packed };
	return SIZED_FILL(ret, &info);
}
