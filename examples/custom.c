/* SPDX-License-Identifier: MIT */
/*
 * A profile of the program's own things: which stacks opened the sessions that are still open, into
 * sessions.pb.gz (or the file that is named), for `go tool pprof -top`. custom [FILE]
 */
#include <coati/custom.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct session {
	int user;
};

static struct coati_custom *sessions;

static __attribute__((noinline)) void log_in(struct session *s, int user)
{
	coati_custom_add(sessions, s, 0);
	s->user = user;
}

static __attribute__((noinline)) void log_in_as_guest(struct session *s)
{
	coati_custom_add(sessions, s, 0);
	s->user = 0;
}

int main(int argc, char **argv)
{
	const char *file = argc > 1 ? argv[1] : "sessions.pb.gz";
	static struct session all[10];
	struct coati_error err;
	int fd;

	if (coati_custom_new("sessions", NULL, &sessions, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 10; i++) {
		if (i % 2)
			log_in(&all[i], i);
		else
			log_in_as_guest(&all[i]);
	}
	for (int i = 1; i < 10; i += 2) /* the guests forget to log out */
		coati_custom_remove(sessions, &all[i]);
	printf("%" PRIu64 " sessions are open\n", coati_custom_count(sessions));
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || coati_custom_write(sessions, fd, COATI_CUSTOM_NAMES, &err) < 0) {
		fprintf(stderr, "%s: cannot write the profile\n", file);
		return 1;
	}
	return close(fd) < 0;
}
