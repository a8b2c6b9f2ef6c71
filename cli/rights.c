/* SPDX-License-Identifier: MIT */
/* see rights.h */
#include "cli/rights.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "cli/talk.h"

void coati_warn_rights(const char *command)
{
	char path[4096];
	struct stat st;
	bool user, group;

	if (!geteuid() || !coati_program_find(command, path, sizeof(path)) || stat(path, &st) < 0)
		return;
	user = st.st_mode & S_ISUID && st.st_uid != geteuid();
	group = st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid();
	if (user || group)
		coati_note("%s runs with the rights of %s %u (set-%s-id): the kernel disables an "
			   "ordinary user's events when it starts, so it cannot be observed; run "
			   "coati as root",
			   command, user ? "user" : "group", user ? st.st_uid : st.st_gid,
			   user ? "user" : "group");
}
