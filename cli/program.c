/* SPDX-License-Identifier: MIT */
/* see program.h */
#include "cli/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/talk.h"

static bool is_program(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool coati_program_find(const char *name, char *ret, size_t size)
{
	const char *at = strchr(name, '/') ? NULL : getenv("PATH");

	if (!at)
		return (size_t)snprintf(ret, size, "%s", name) < size && is_program(ret);
	for (;; at++) {
		size_t len = strcspn(at, ":");
		int n = snprintf(ret, size, "%.*s/%s", (int)len, len ? at : ".", name);

		if (n > 0 && (size_t)n < size && is_program(ret))
			return true;
		at += len;
		if (!*at)
			return false;
	}
}

int coati_program_release(struct coati_child *child)
{
	struct coati_error err = { 0 };
	int r = child ? coati_child_exec(child, &err) : 0;

	if (r >= 0)
		return -1;
	coati_say("%s", err.text);
	return r == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXEC;
}
