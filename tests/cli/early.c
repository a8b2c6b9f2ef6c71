/* SPDX-License-Identifier: MIT */
/*
 * early FILE [keep]: a task and two regions begin, then the first recorder starts, which writes to
 * the file; all of them end while it records. With "keep" the program keeps its open regions.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <coati/live.h>

static struct coati_site request =
	COATI_SITE_FOR("", COATI_SITE_REGION, "", "long request", NULL, 0, 0);

int main(int argc, char **argv)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };
	struct coati_live_task task;

	if (argc < 2 || (argc > 2 && coati_regions_keep(1, &err) < 0))
		return 1;
	COATI_TASK_BEGIN(&task, "request", NULL);
	coati_region_begin(&request);
	{
		COATI_TASK_SCOPE(&task);
		COATI_REGION("macro region");
		usleep(20000);
		o.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (coati_recorder_start(&o, &rec, &err) < 0) {
			fprintf(stderr, "early: %s\n", err.text);
			return 1;
		}
		COATI_LOG("x", "%s", "inside");
	}
	coati_region_end(&request);
	coati_task_end(&task);
	return coati_recorder_stop(&rec, &err) < 0;
}
