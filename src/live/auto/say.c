/* SPDX-License-Identifier: MIT */
/*
 * One line on stderr. The program may have closed it and have something of its own under that
 * number by now: then nothing is written. Our thread has no stderr, and takes the program's for as
 * long as it writes.
 */
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "live/auto/auto.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* Linux 5.3 */
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438 /* Linux 5.6 */
#endif

static struct {
	dev_t dev, rdev;
	ino_t ino;
	bool known;
} place;

/* This thread has descriptors of its own. */
static __thread bool is_apart __attribute__((tls_model("initial-exec")));

void coati_auto_say_init(void)
{
	struct stat st;

	place.known = fstat(STDERR_FILENO, &st) == 0;
	if (place.known) {
		place.dev = st.st_dev;
		place.rdev = st.st_rdev;
		place.ino = st.st_ino;
	}
}

void coati_auto_say_from_apart(bool apart)
{
	is_apart = apart;
}

/* A descriptor of the program's, for us. */
static int borrow(int fd)
{
	long pidfd = syscall(SYS_pidfd_open, (long)getpid(), 0UL), got;

	if (pidfd < 0)
		return -1;
	got = syscall(SYS_pidfd_getfd, pidfd, (long)fd, 0UL);
	close((int)pidfd);
	return (int)got;
}

static void put(const struct strbuf *line)
{
	int fd = is_apart ? borrow(STDERR_FILENO) : STDERR_FILENO;
	struct stat st;

	if (fd < 0)
		return;
	if (place.known && fstat(fd, &st) == 0 && st.st_dev == place.dev &&
	    st.st_ino == place.ino && st.st_rdev == place.rdev)
		(void)coati_write_all(fd, line->text, line->len);
	if (is_apart)
		close(fd);
}

void coati_auto_say(const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT(4096), line = STRBUF_INIT(8192);
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(&text, fmt, ap);
	va_end(ap);
	coati_strbuf_adds(&line, "coati: ");
	coati_strbuf_clean(&line, text.text, text.len);
	coati_strbuf_addc(&line, '\n');
	put(&line);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&line);
}
