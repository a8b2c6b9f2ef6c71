/* SPDX-License-Identifier: MIT */
/* What was open before a recorder started is in its recording, and a site that says too much is
 * switched off: before [FILE], then coati trace --events FILE */
#include <coati/live.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct coati_site lines = COATI_SITE_FOR("", COATI_SITE_LOG, "input", "", NULL, 0, 0);

static void work(const char *text)
{
	for (int nr = 0; *text; nr++) {
		size_t size = strcspn(text, "\n");

		if (nr == 2)
			coati_site_switch(&lines, 0);
		coati_log_text(&lines, text,
			       size); /* a part of the text, without an end of its own */
		text += size + (text[size] == '\n');
	}
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "before.data", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct coati_recorder *recorder = NULL;
	struct coati_error err = { 0, 0, "" };

	if (fd < 0 || coati_regions_keep(1, &err) < 0) /* from here on they are known */
		return 1;
	{
		COATI_REGION("main loop");
		if (coati_recorder_start(NULL, &recorder, &err) < 0)
			return 1;
		work("first\nsecond\nthird\nfourth\n");
	}
	if (coati_recorder_snapshot(recorder, fd, &err) < 0)
		fprintf(stderr, "before: %s\n", err.text);
	coati_recorder_stop(&recorder, NULL);
	return close(fd) < 0 || err.code != 0;
}
