/* SPDX-License-Identifier: MIT */
/* The names of all cgroups that there are, for samples that carry the number of theirs: the inode
 * of its directory. */
#include "capture/synth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "event/cgroup.h"

#define CGROUPS_MAX  65536
#define DEPTH_MAX    32
#define MOUNTS_BYTES (16u << 20)
#define PATH_BYTES   4096

struct walk {
	struct synth *s;
	struct strbuf path; /* of the cgroup, "/" for the root */
	uint32_t nr;
};

static int write_cgroup(struct walk *w, int fd)
{
	struct coati_record rec = { .type = COATI_RECORD_CGROUP };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return 0;
	rec.u.cgroup.id = st.st_ino;
	rec.u.cgroup.path = w->path.len ? w->path.text : "/";
	w->nr++;
	return coati_synth_emit(w->s, &rec, UINT32_MAX, 0);
}

static void cut_path(struct walk *w, size_t len)
{
	if (w->path.cap) {
		w->path.len = len;
		w->path.text[len] = '\0';
	}
}

/* The directory @fd, which is closed, and those below it. Recursion is bounded by DEPTH_MAX. */
static int write_tree(struct walk *w, int fd, int depth) /* NOLINT(misc-no-recursion) */
{
	CLEANUP(dir_closep) DIR *dir = fdopendir(fd);
	size_t len = w->path.len;
	int r;

	if (!dir) {
		fd_closep(&fd);
		return 0;
	}
	r = write_cgroup(w, fd);
	for (struct dirent *e;
	     r >= 0 && depth < DEPTH_MAX && w->nr < CGROUPS_MAX && (e = readdir(dir));) {
		int below;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			continue;
		coati_strbuf_addc(&w->path, '/');
		coati_strbuf_adds(&w->path, e->d_name);
		r = w->path.failed ? close(below) : write_tree(w, below, depth + 1);
		cut_path(w, len);
		w->path.failed = 0;
	}
	return r;
}

int coati_synth_cgroups(struct synth *s)
{
	struct walk w = { .s = s, .path = STRBUF_INIT(PATH_BYTES) };
	struct cgroup_mount mount = { .version = 0 };
	int fd, r = 0;

	coati_strbuf_clear(&s->text);
	if (coati_file_read(s->proc_fd, "self/mountinfo", &s->text) == 0)
		coati_cgroup_mount_find(s->text.text, &mount);
	fd = mount.version ? open(mount.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0)
		r = write_tree(&w, fd, 0);
	coati_strbuf_fini(&w.path);
	return r;
}
