/* SPDX-License-Identifier: MIT */
/* see view/browser.h */
#include "cli/view/browser.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/program.h"

static bool has_screen(void)
{
	const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (display && *display) || (wayland && *wayland);
}

/* What the browser prints is not for this terminal. */
static void become_browser(const char *program, const char *address, int go)
	__attribute__((noreturn));
static void become_browser(const char *program, const char *address, int go)
{
	char *argv[] = { "xdg-open", (char *)(uintptr_t)address, NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte;

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			_exit(1);
	if (read(go, &byte, 1) == 1)
		execv(program, argv);
	_exit(1);
}

void coati_browser_prepare(struct browser *b, const char *address)
{
	char program[4096];
	int ends[2];
	pid_t pid;

	if (!has_screen() || !coati_program_find("xdg-open", program, sizeof(program)) ||
	    pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		become_browser(program, address, ends[0]);
	}
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	else
		b->fd = ends[1];
}

bool coati_browser_open(struct browser *b)
{
	bool ok = b->fd && write(b->fd, "", 1) == 1;

	coati_browser_end(b);
	return ok;
}

void coati_browser_end(struct browser *b)
{
	if (b->fd)
		close(b->fd);
	b->fd = 0;
}
