/* SPDX-License-Identifier: MIT */
/*
 * Frames and regions with names of run time: a loop that marks its frames and says how long they
 * took; every tenth loads a level. With a file name the last seconds go there, for `coati trace
 * FILE` and `coati why frame -i FILE`. frames [FILE]
 */
#include <coati/frames.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void work(const char *name, long ns)
{
	COATI_REGION_NAMED(name);
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

int main(int argc, char **argv)
{
	struct coati_frame_stats s = { .size = sizeof(s) };
	struct coati_recorder *rec = NULL;
	struct coati_error err;
	char level[32];
	int fd;

	if (coati_recorder_start(NULL, &rec, &err) < 0)
		fprintf(stderr, "not recorded: %s\n", err.text);
	for (int i = 0; i <= 50; i++) {
		COATI_FRAME("frame");
		work("draw", 200000);
		snprintf(level, sizeof(level), "level %d", i / 10);
		if (i % 10 == 9)
			work(level, 2000000);
	}
	coati_frame_stats("frame", &s);
	printf("%" PRIu64 " frames, half of them within %" PRIu64 " us, the slowest %" PRIu64
	       " us\n",
	       s.frames, s.p50_ns / 1000, s.max_ns / 1000);
	if (rec && argc > 1) {
		fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0 || coati_recorder_snapshot(rec, fd, &err) < 0) {
			fprintf(stderr, "%s: cannot write the recording\n", argv[1]);
			return 1;
		}
		close(fd);
	}
	return coati_recorder_stop(&rec, &err) < 0;
}
