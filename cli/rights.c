/* SPDX-License-Identifier: MIT */
/* see rights.h */
#include "cli/rights.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/talk.h"

/* As execvp() looks for it. */
static bool find(const char *command, struct stat *ret)
{
	const char *at = strchr(command, '/') ? NULL : getenv("PATH");
	char path[4096];

	if (!at)
		return stat(command, ret) == 0;
	for (;; at++) {
		size_t len = strcspn(at, ":");
		int n = snprintf(path, sizeof(path), "%.*s/%s", (int)len, len ? at : ".", command);

		if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0 &&
		    stat(path, ret) == 0 && S_ISREG(ret->st_mode))
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

void coati_warn_rights(const char *command)
{
	struct stat st;
	bool user, group;

	if (!geteuid() || !find(command, &st))
		return;
	user = st.st_mode & S_ISUID && st.st_uid != geteuid();
	group = st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid();
	if (user || group)
		coati_note(
			"%s runs with the rights of %s %u (set-%s-id): the kernel ends the events "
			"of "
			"an ordinary user when it starts, so that nothing of it is seen; run coati "
			"as root",
			command, user ? "user" : "group", user ? st.st_uid : st.st_gid,
			user ? "user" : "group");
}
