/* SPDX-License-Identifier: MIT */
/*
 * A key-value server of the usual kind: an acceptor, some workers, one table under one lock. Lines
 * in, lines out:
 *
 *	SET key value	-> OK		GET key	-> value or -	LEN	-> number of keys
 *
 *	./server SOCKET			serves on a unix socket until it is killed or a client says
 *					STOP
 *
 * The lines with coati in them are all that makes its requests tasks, its steps regions and its
 * last seconds readable after a crash. Every 64th SET tidies the table while it holds the lock: the
 * slow requests that `coati why request` explains.
 */
#include <coati/live.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORKERS 4
#define BUCKETS 4096u
#define LINE	512

struct entry {
	struct entry *next;
	char *value;
	char key[];
};

static struct {
	pthread_mutex_t lock;
	struct entry *buckets[BUCKETS];
	unsigned long keys, sets;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the table: with the lock held ---- */

static struct entry **find(const char *key)
{
	unsigned hash = 5381;
	struct entry **at;

	for (const char *c = key; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	for (at = &table.buckets[hash % BUCKETS]; *at && strcmp((*at)->key, key) != 0;)
		at = &(*at)->next;
	return at;
}

static void renew(struct entry *e)
{
	char *copy = strdup(e->value);

	if (!copy)
		return;
	free(e->value);
	e->value = copy;
}

/* Every value gets new memory, in the order of the table. Takes its time. */
static void tidy(void)
{
	COATI_REGION("tidy");
	for (unsigned round = 0; round < 100; round++)
		for (unsigned i = 0; i < BUCKETS; i++)
			for (struct entry *e = table.buckets[i]; e; e = e->next)
				renew(e);
}

static bool set(const char *key, const char *value)
{
	struct entry **at = find(key);
	char *copy = strdup(value);

	if (copy && !*at) {
		*at = calloc(1, sizeof(**at) + strlen(key) + 1);
		if (*at) {
			strcpy((*at)->key, key);
			table.keys++;
		}
	}
	if (!copy || !*at) {
		free(copy);
		return false;
	}
	free((*at)->value);
	(*at)->value = copy;
	if (++table.sets % 64 == 0)
		tidy();
	return true;
}

/* ---- requests ---- */

static int answer(char *line, char *reply)
{
	char *rest, *verb = strtok_r(line, " \r\n", &rest);
	char *key = strtok_r(NULL, " \r\n", &rest), *value = strtok_r(NULL, "\r\n", &rest);
	struct entry **at;

	COATI_LABEL("verb", verb ? verb : "");
	COATI_REGION("table");
	pthread_mutex_lock(&table.lock);
	if (verb && key && value && !strcmp(verb, "SET"))
		strcpy(reply, set(key, value) ? "OK\n" : "ERR no memory\n");
	else if (verb && key && !strcmp(verb, "GET"))
		snprintf(reply, LINE, "%s\n", *(at = find(key)) ? (*at)->value : "-");
	else if (verb && !strcmp(verb, "LEN"))
		snprintf(reply, LINE, "%lu\n", table.keys);
	else
		strcpy(reply, "ERR\n");
	pthread_mutex_unlock(&table.lock);
	return (int)strlen(reply);
}

static bool serve_line(FILE *in, char *line)
{
	char reply[LINE];
	struct coati_live_task request;
	ssize_t sent;
	int size;

	COATI_TASK_BEGIN(&request, "request", NULL);
	COATI_TASK_SCOPE(&request);
	size = answer(line, reply);
	if (reply[0] == 'E')
		COATI_LOG("protocol", "not understood: %.40s", line);
	{
		COATI_REGION("send");
		sent = send(fileno(in), reply, (size_t)size, MSG_NOSIGNAL);
	}
	coati_task_end(&request);
	return sent == size;
}

static void *work(void *arg)
{
	int listener = *(int *)arg, fd;
	char line[LINE];

	coati_thread_name("worker");
	while ((fd = accept(listener, NULL, NULL)) >= 0 || errno == EINTR) {
		FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;

		while (in && fgets(line, sizeof(line), in)) {
			if (!strncmp(line, "STOP", 4))
				shutdown(listener, SHUT_RDWR);
			else if (!serve_line(in, line))
				break;
		}
		if (in)
			fclose(in);
		else if (fd >= 0)
			close(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct coati_recorder *recorder = NULL;
	struct coati_error err;
	pthread_t workers[WORKERS];

	if (argc != 2 || strlen(argv[1]) >= sizeof(to.sun_path)) {
		fprintf(stderr, "usage: server SOCKET\n");
		return 2;
	}
	/* the last seconds, for coati autopsy */
	if (coati_recorder_start(NULL, &recorder, &err) < 0)
		fprintf(stderr, "server: no flight recorder: %s\n", err.text);
	strcpy(to.sun_path, argv[1]);
	unlink(argv[1]);
	if (listener < 0 || bind(listener, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    listen(listener, 64) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, &listener) != 0)
			return 1;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	unlink(argv[1]);
	coati_recorder_stop(&recorder, NULL);
	return 0;
}
