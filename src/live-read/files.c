/* SPDX-License-Identifier: MIT */
/* see files.h */
#include "live-read/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/map.h"
#include "base/opening.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "live-read/flight-parts.h"
#include "live-read/flight.h"

#define SHM	    "/dev/shm"
#define RUNTIME	    "/run/user"
#define START	    "coati-"
#define ENTRIES_MAX 65536u /* of a directory, or descriptors of a process, that are looked at */
#define FOLDERS_MAX 4u	   /* of a user: recorders make two at most */
#define MEMFD	    "/memfd:coati-live"

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

/* ---- directories ---- */

/* Only this user may write to it: no other user can have put a file there. */
static int open_folder(const char *path, uint32_t owner)
{
	struct opening o = { .kind = OPEN_FOLDER, .links = OPEN_NO_LAST_LINK, .path = path };
	CLEANUP(fd_closep) int fd = coati_open_file(&o, NULL);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	if (owner != LIVE_FILES_ALL && (st.st_uid != owner || st.st_mode & 022))
		return -EPERM;
	return TAKE_FD(fd);
}

/* A file without a head is known by its name, PID-TICKS.live, alone. */
static bool describe(int fd, const char *name, struct coati_flight_info *ret)
{
	char pid[16];
	size_t len = strcspn(name, "-");

	if (coati_flight_peek(fd, ret) == 0)
		return true;
	if (!ret->bytes && len < sizeof(pid)) {
		memcpy(pid, name, len);
		pid[len] = '\0';
		return coati_parse_u32(pid, 1, INT32_MAX, &ret->pid) == 0;
	}
	return false;
}

/* A directory that is looked through, and who wants to know. */
struct looking {
	const char *folder;
	uint32_t owner;
	struct coati_live_look *l;
};

static int give(const struct looking *l, int dir, const char *name)
{
	struct opening o = { .kind = OPEN_RECORDER,
			     .links = OPEN_NO_LAST_LINK,
			     .folder_fd = dir,
			     .root = l->folder,
			     .path = name };
	CLEANUP(fd_closep) int fd = coati_open_file(&o, NULL);
	struct coati_flight_info info;
	char path[4352];

	if (fd < 0 || !describe(fd, name, &info) ||
	    (l->owner != LIVE_FILES_ALL && info.owner != l->owner))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", l->folder, name);
	return l->l->fn(l->l->ctx, fd, path, &info);
}

/* What can be listed, or NULL. */
static DIR *list_folder(const char *path)
{
	int fd = coati_open_file(&(struct opening){ .kind = OPEN_FOLDER, .path = path }, NULL);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Those of an open directory, which is closed. */
static int each_of(int fd, const struct looking *l)
{
	CLEANUP(dir_closep) DIR *d = fdopendir(fd);
	uint32_t seen = 0, most = l->l->most ? l->l->most : LIVE_FILES_MOST;
	const struct dirent *e;
	int n = 0;

	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	while (n == 0 && (e = readdir(d))) {
		if (!ends_in(e->d_name, ".live") && !ends_in(e->d_name, ".live.new"))
			continue;
		if (seen++ < most)
			n = give(l, fd, e->d_name);
		else
			l->l->left_out++;
	}
	return n;
}

static int each_in(const char *folder, uint32_t owner, struct coati_live_look *l)
{
	int fd = open_folder(folder, owner);

	/* not ours to look into, gone, or not what it is named after */
	return fd < 0 ? 0 : each_of(fd, &(struct looking){ folder, owner, l });
}

int coati_live_files_in(const char *directory, struct coati_live_look *l)
{
	return each_in(directory, LIVE_FILES_ALL, l);
}

/* ---- users ---- */

/* "coati-UID" and "coati-UID-NUMBER". */
static bool is_folder_of(const char *name, uint32_t *ret)
{
	char uid[16];
	size_t len;

	if (strncmp(name, START, strlen(START)) != 0)
		return false;
	name += strlen(START);
	len = strcspn(name, "-");
	if (!len || len >= sizeof(uid))
		return false;
	memcpy(uid, name, len);
	uid[len] = '\0';
	return coati_parse_u32(uid, 0, LIVE_FILES_ALL - 1, ret) == 0;
}

/* One more directory that is really of that user; false when there are too many. */
static bool count_folder(struct map *folders, uint32_t of)
{
	uint64_t nr = 0;

	(void)coati_map_get(folders, of, &nr);
	return nr < FOLDERS_MAX && coati_map_put(folders, of, nr + 1) >= 0;
}

/* Any user may create any number of names here, also those of other users: the owner of a directory
 * is checked first, and no user can make coati read much. */
static int each_in_shm(uint32_t uid, struct coati_live_look *l)
{
	CLEANUP(dir_closep) DIR *d = list_folder(SHM);
	const struct dirent *e;
	struct map folders;
	char folder[300];
	uint32_t of;
	int n = 0, fd;

	coati_map_init(&folders, ENTRIES_MAX);
	while (d && n == 0 && (e = readdir(d))) {
		if (!is_folder_of(e->d_name, &of) || (uid != LIVE_FILES_ALL && of != uid))
			continue;
		snprintf(folder, sizeof(folder), SHM "/%s", e->d_name);
		fd = open_folder(folder, of);
		if (fd >= 0 && count_folder(&folders, of))
			n = each_of(fd, &(struct looking){ folder, of, l });
		else if (fd >= 0)
			close(fd);
	}
	coati_map_fini(&folders);
	return n;
}

/* /run/user/UID/coati of logins; and that of this process, which may be another. */
static int each_in_runtime(uint32_t uid, struct coati_live_look *l)
{
	CLEANUP(dir_closep) DIR *d = list_folder(RUNTIME);
	const char *own = secure_getenv("XDG_RUNTIME_DIR");
	char folder[512], usual[64];
	const struct dirent *e;
	uint32_t seen = 0, of;
	int n = 0;

	while (d && n == 0 && seen++ < ENTRIES_MAX && (e = readdir(d))) {
		if (coati_parse_u32(e->d_name, 0, LIVE_FILES_ALL - 1, &of) < 0 ||
		    (uid != LIVE_FILES_ALL && of != uid))
			continue;
		snprintf(folder, sizeof(folder), RUNTIME "/%s/coati", e->d_name);
		n = each_in(folder, of, l);
	}
	of = (uint32_t)geteuid();
	snprintf(usual, sizeof(usual), RUNTIME "/%u", of);
	if (n || !own || own[0] != '/' || !strcmp(own, usual) ||
	    (uid != LIVE_FILES_ALL && of != uid) ||
	    (size_t)snprintf(folder, sizeof(folder), "%s/coati", own) >= sizeof(folder))
		return n;
	return each_in(folder, of, l);
}

int coati_live_files_of_user(uint32_t uid, struct coati_live_look *l)
{
	int n = each_in_shm(uid, l);

	return n ? n : each_in_runtime(uid, l);
}

/* ---- processes ---- */

int coati_live_user_of(int32_t pid, uint32_t *ret)
{
	char path[40], *line, *end;
	struct strbuf s = STRBUF_INIT(65536);
	int n;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	n = coati_file_read(AT_FDCWD, path, &s);
	line = n < 0 ? NULL : strstr(s.text, "\nUid:\t");
	line = line ? strchr(line + 6, '\t') : NULL; /* behind the real one */
	n = -ESRCH;
	if (line) {
		line++;
		end = line + strcspn(line, "\t\n");
		*end = '\0';
		n = coati_parse_u32(line, 0, LIVE_FILES_ALL - 1, ret);
	}
	coati_strbuf_fini(&s);
	return n < 0 ? -ESRCH : 0;
}

static bool is_named_so(const char *link)
{
	return ends_in(link, ".live") || !strncmp(link, MEMFD, strlen(MEMFD));
}

/* A regular file with the name of a recorder, before it is opened: opening others may do things. */
static bool is_recorder(int dir, const char *name, char *link, size_t size)
{
	ssize_t len = readlinkat(dir, name, link, size - 1);
	struct stat st;

	if (len <= 0)
		return false;
	link[len] = '\0';
	return is_named_so(link) && fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode);
}

/* The name of the file, as the kernel gives it. */
static bool name_of(int fd, char *buf, size_t size)
{
	char path[40];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, buf, size - 1);
	buf[len < 0 ? 0 : len] = '\0';
	return len > 0;
}

int coati_live_files_of_process(int32_t pid, struct coati_live_look *l)
{
	CLEANUP(dir_closep) DIR *d = NULL;
	char path[64], link[4096];
	const struct dirent *e;
	uint32_t seen = 0;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = list_folder(path);
	while (d && n == 0 && seen++ < ENTRIES_MAX && (e = readdir(d))) {
		struct coati_flight_info info;
		CLEANUP(fd_closep) int fd = -1;

		/* the process that opens files for this one checks the link, which this one may not
		 * read */
		if (!coati_opening_hooks() && !is_recorder(dirfd(d), e->d_name, link, sizeof(link)))
			continue;
		fd = coati_open_file(&(struct opening){ .kind = OPEN_RECORDER,
							.folder_fd = dirfd(d),
							.root = path,
							.path = e->d_name },
				     NULL);
		/* one that it reads is not of the process */
		if (fd < 0 || coati_flight_peek(fd, &info) < 0 || !info.is_alive ||
		    !name_of(fd, link, sizeof(link)) || !is_named_so(link))
			continue; /* or another one by now */
		n = l->fn(l->ctx, fd, link, &info);
	}
	return n;
}
