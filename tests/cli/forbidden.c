/* SPDX-License-Identifier: MIT */
/*
 * forbidden FILE DEPTH TRANSITIONS: a recording of so many regions in each other, and of as many
 * connections that go from closed back to open, which their type does not allow, beside one that
 * does all in order; each on a thread of its own.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/tracer.h>

enum { NEW, OPEN, CLOSED };
static const char *const states[] = { "new", "open", "closed" };
static const uint64_t next[] = { 1u << OPEN, 1u << CLOSED, 0 };
static struct coati_resource_type connection = { "connection", states, next, 3, 0 };

static int nest(int depth)
{
	COATI_REGION("nested");
	return depth > 1 ? nest(depth - 1) + 1 : 1;
}

static void *use_connection(void *again)
{
	struct coati_resource r;

	coati_resource_begin(&connection, NULL, NEW, &r);
	coati_resource_set(&r, OPEN, NULL);
	coati_resource_set(&r, CLOSED, NULL);
	if (again)
		coati_resource_set(&r, OPEN, NULL);
	coati_resource_end(&r);
	return NULL;
}

/* On a thread of its own, which ends before anybody can ask for its name. */
static int use_on_thread(int again)
{
	pthread_t t;

	if (pthread_create(&t, NULL, use_connection, again ? &connection : NULL) != 0)
		return -1;
	return pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	struct coati_recorder_opts o = { .size = sizeof(o) };
	struct coati_recorder *recorder = NULL;
	struct coati_error err;
	int depth, times;

	if (argc != 4)
		return 2;
	depth = atoi(argv[2]);
	times = atoi(argv[3]);
	o.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (o.fd < 0 || coati_recorder_start(&o, &recorder, &err) < 0)
		return 1;
	if (depth && nest(depth) != depth)
		return 1;
	for (int i = 0; i <= times; i++)
		if (use_on_thread(i > 0) != 0)
			return 1;
	return coati_recorder_stop(&recorder, &err) < 0;
}
