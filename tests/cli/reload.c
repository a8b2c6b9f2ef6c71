/* SPDX-License-Identifier: MIT */
/* reload ROUNDS LIBRARY...: load each library in turn, let its function work for a while, and
 * unload it again. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	for (long i = 0; i < rounds; i++) {
		void *lib = dlopen(argv[2 + i % (argc - 2)], RTLD_NOW);
		unsigned long (*work)(unsigned long) = NULL;

		if (!lib)
			return 1;
		*(void **)&work = dlsym(lib, "work");
		if (!work)
			return 1;
		work(2000000);
		dlclose(lib);
	}
	return rounds == 0;
}
