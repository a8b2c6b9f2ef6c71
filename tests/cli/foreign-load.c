/* SPDX-License-Identifier: MIT */
/* The variable of foreign-tls.c in a library that is loaded at run time, beside this program. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef const void **context_fn(void);

const void **foreign_context(void);
const void **foreign_context(void)
{
	static context_fn *found;
	char path[1024] = { 0 };
	void *library;

	if (!found) {
		if (readlink("/proc/self/exe", path, sizeof(path) - 32) < 0)
			exit(1);
		strcpy(strrchr(path, '/'), "/libforeign-module.so");
		library = dlopen(path, RTLD_NOW);
		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		*(void **)&found = dlsym(library, "foreign_context");
	}
	return found();
}
