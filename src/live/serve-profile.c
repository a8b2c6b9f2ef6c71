/* SPDX-License-Identifier: MIT */
/*
 * /debug/pprof/profile: the sampler runs for some seconds, while the server sleeps or answers others, and what it writes is the answer. There is
 * one sampler in a process: who asks while it runs is told to come again.
 */
#include "live/serve-pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

#define DEFAULT_SECONDS 30
#define MAX_SECONDS	3600

/* All of @fd behind what @s holds; false when it is over the limit of @s, or cannot be read. */
static bool read_back(int fd, struct strbuf *s)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *room = size < 0 ? NULL : strbuf_room(s, (size_t)size);

	if (!room || coati_pread_all(fd, room, (size_t)size, 0) < 0)
		return false;
	room[size] = 0;
	s->len += (size_t)size;
	return true;
}

static void finish_profile(struct serve_answer *ret)
{
	CLEANUP(fd_closep) int fd = ret ? memfd_create("coati-profile", MFD_CLOEXEC) : -1;
	struct coati_error err = { 0 };
	int r = coati_sampler_stop(fd, NULL, &err);

	if (!ret)
		return;
	if (fd < 0)
		coati_serve_say(ret, 500, "no memory for the profile");
	else if (r < 0)
		coati_serve_say(ret, 500, err.text);
	else if (!read_back(fd, &ret->body))
		coati_serve_say(ret, 500, "the profile is too large; ask for fewer seconds");
	else
		ret->extra = "Content-Disposition: attachment; filename=\"profile.pb.gz\"\r\n";
}

void coati_serve_profile(const struct http_request *request, struct serve_answer *ret)
{
	struct coati_sampler_opts opts = { .size = sizeof(opts), .flags = COATI_SAMPLER_NAMES };
	uint32_t seconds = DEFAULT_SECONDS;
	struct coati_error err = { 0 };
	int r = coati_http_query_u32(request->query, "seconds", MAX_SECONDS, &seconds);

	if ((r < 0 && r != -ENOENT) || !seconds) {
		coati_serve_say(ret, 400, "seconds is a number from 1 to 3600: profile?seconds=30");
		return;
	}
	if (request->method == HTTP_HEAD) {
		ret->extra = "Allow: GET\r\n";
		coati_serve_say(ret, 405, "a profile is taken with GET");
		return;
	}
	r = coati_sampler_start(&opts, &err);
	if (r == -EBUSY) {
		ret->extra = "Retry-After: 5\r\n";
		coati_serve_say(ret, 429,
				"a profile is being taken already; ask again when it is done");
		return;
	}
	if (r < 0) {
		coati_serve_say(ret, 500, err.text);
		return;
	}
	ret->type = "application/octet-stream";
	ret->finish = finish_profile;
	ret->later_ns = seconds * NSEC_PER_SEC;
}
