/* SPDX-License-Identifier: MIT */
/* see landlock.h */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The same on x86-64 and arm64. */
#define NR_CREATE_RULESET 444
#define NR_ADD_RULE	  445
#define NR_RESTRICT_SELF  446

#define GET_VERSION   1u /* flag of create_ruleset */
#define PATH_BENEATH  1	 /* kind of rule */
#define TCP_BIND      (UINT64_C(1) << 0)
#define TCP_CONNECT   (UINT64_C(1) << 1)
#define SCOPE_SOCKETS (UINT64_C(1) << 0)
#define SCOPE_SIGNALS (UINT64_C(1) << 1)

/* Rights that may be allowed for a single file; others are a folder's. */
#define OF_A_FILE                                                                          \
	(LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE | \
	 (UINT64_C(1) << 15))

struct ruleset {
	uint64_t handled_fs;
	uint64_t handled_net; /* since version 4 */
	uint64_t scoped;      /* since version 6 */
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int coati_landlock_version(void)
{
	long version = syscall(NR_CREATE_RULESET, NULL, (size_t)0, GET_VERSION);

	return version < 0 ? -errno : (int)version;
}

/* Rights on files that a version knows. */
static uint64_t known_rights(int version)
{
	static const unsigned int bits[] = { 0, 13, 14, 15, 15, 16 };
	int last = (int)(sizeof(bits) / sizeof(bits[0])) - 1;

	return (UINT64_C(1) << bits[version < last ? version : last]) - 1;
}

static size_t size_of_ruleset(int version)
{
	return version < 4 ? 8 : version < 6 ? 16 : sizeof(struct ruleset);
}

int coati_landlock_begin(struct landlock *l, uint64_t rights, bool net, bool scope)
{
	int version = coati_landlock_version();
	struct ruleset set = { .handled_fs = rights };
	long fd;

	*l = (struct landlock){ .fd = -1 };
	if (version < 0)
		return version;
	set.handled_fs &= known_rights(version);
	if (net && version >= 4)
		set.handled_net = TCP_BIND | TCP_CONNECT;
	if (scope && version >= 6)
		set.scoped = SCOPE_SOCKETS | SCOPE_SIGNALS;
	fd = syscall(NR_CREATE_RULESET, &set, size_of_ruleset(version), 0u);
	if (fd < 0)
		return -errno;
	l->fd = (int)fd;
	l->handled = set.handled_fs;
	return 0;
}

int coati_landlock_allow(struct landlock *l, int fd, uint64_t rights)
{
	struct path_beneath rule = { .allowed = rights & l->handled, .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= OF_A_FILE;
	if (!rule.allowed)
		return 0;
	return syscall(NR_ADD_RULE, l->fd, PATH_BENEATH, &rule, 0u) < 0 ? -errno : 0;
}

int coati_landlock_allow_path(struct landlock *l, const char *path, uint64_t rights)
{
	CLEANUP(fd_closep) int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : coati_landlock_allow(l, fd, rights);
}

int coati_landlock_restrict(struct landlock *l)
{
	return syscall(NR_RESTRICT_SELF, l->fd, 0u) < 0 ? -errno : 0;
}

void coati_landlock_end(struct landlock *l)
{
	fd_closep(&l->fd);
}
