/* SPDX-License-Identifier: MIT */
/*
 * The same scenario, tasks, regions and logs on several threads, written with Go's runtime/trace
 * (tests/data/live-go, as `go tool trace -d` printed it) and with ours: the trees of both must be
 * the same.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/trace.h>

#include "base/file.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "lib/test.h"
#include "live-read/check.h"
#include "live-read/flight.h"
#include "live-read/reader.h"

/* ---- a tree, whoever tells it ---- */

#define NODES 256

struct node {
	char what[128]; /* "region parse" */
	int parent;	/* -1: none */
	uint64_t task, thread;
	bool is_open, is_region;
};

struct tree {
	struct node v[NODES];
	int nr;
};

static int task_node(const struct tree *t, uint64_t task)
{
	for (int i = 0; i < t->nr; i++)
		if (!strncmp(t->v[i].what, "task ", 5) && t->v[i].task == task)
			return i;
	return -1;
}

/* The innermost region of the thread, or else the task. */
static int place_of(const struct tree *t, uint64_t thread, uint64_t task)
{
	for (int i = t->nr - 1; i >= 0; i--)
		if (t->v[i].is_region && t->v[i].is_open && t->v[i].thread == thread &&
		    t->v[i].task == task)
			return i;
	return task_node(t, task);
}

static struct node *add(struct tree *t, int parent, uint64_t thread, uint64_t task)
{
	struct node *n = &t->v[t->nr++];

	CHECK_INT(t->nr, <, NODES);
	*n = (struct node){ .parent = parent, .thread = thread, .task = task, .is_open = true };
	return n;
}

static void end_region(struct tree *t, uint64_t thread, uint64_t task)
{
	int i = place_of(t, thread, task);

	CHECK(i >= 0 && t->v[i].is_region);
	t->v[i].is_open = false;
}

static void print(const struct tree *t, int parent, unsigned int depth, struct strbuf *out)
{
	for (int i = 0; i < t->nr; i++) {
		const struct node *n = &t->v[i];

		if (n->parent != parent)
			continue;
		coati_strbuf_pad(out, ' ', 2 * depth);
		coati_strbuf_printf(out, "%s%s\n", n->what, n->is_open ? ", open" : "");
		print(t, i, depth + 1, out);
	}
}

/* ---- Go's ---- */

/* The value behind " KEY=" in the line, up to a blank or, at the end of the line, all of it. */
static void value(const char *line, const char *key, bool last, char *ret, size_t size)
{
	char want[32];
	const char *at;
	size_t len;

	snprintf(want, sizeof(want), " %s=", key);
	at = strstr(line, want);
	CHECK(at);
	at += strlen(want);
	len = strcspn(at, last ? "\n" : " \n");
	CHECK_U64(len, <, size);
	memcpy(ret, at, len);
	ret[len] = 0;
}

static uint64_t number(const char *line, const char *key)
{
	char text[32];
	uint64_t v = 0;

	value(line, key, false, text, sizeof(text));
	CHECK_INT(coati_parse_u64(text, 0, UINT64_MAX, &v), ==, 0);
	return v;
}

static void go_line(struct tree *t, const char *line)
{
	char name[48], text[48];
	uint64_t thread = number(line, "g");
	struct node *n;

	if (strstr(line, " UserTaskCreate ")) {
		value(line, "name", true, name, sizeof(name));
		n = add(t, task_node(t, number(line, "pid")), thread, number(line, "taskid"));
		snprintf(n->what, sizeof(n->what), "task %s", name);
	} else if (strstr(line, " UserTaskEnd ")) {
		t->v[task_node(t, number(line, "taskid"))].is_open = false;
	} else if (strstr(line, " UserRegion ") && number(line, "mode")) {
		end_region(t, thread, number(line, "taskid"));
	} else if (strstr(line, " UserRegion ")) {
		value(line, "name", true, name, sizeof(name));
		n = add(t, place_of(t, thread, number(line, "taskid")), thread,
			number(line, "taskid"));
		n->is_region = true;
		snprintf(n->what, sizeof(n->what), "region %s", name);
	} else {
		CHECK_HAS(line, " UserLog ");
		value(line, "category", false, name, sizeof(name));
		value(line, "message", true, text, sizeof(text));
		n = add(t, place_of(t, thread, number(line, "id")), thread, number(line, "id"));
		n->is_open = false;
		snprintf(n->what, sizeof(n->what), "log %s: %s", name, text);
	}
}

static void go_tree(struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT(1 << 16);
	static struct tree t;
	char path[512], line[256];

	snprintf(path, sizeof(path), "%s/live-go/events.txt", test_data_dir());
	CHECK_INT(coati_file_read(AT_FDCWD, path, &text), ==, 0);
	for (const char *at = text.text; *at;) {
		size_t len = strcspn(at, "\n");

		CHECK_U64(len, <, sizeof(line));
		memcpy(line, at, len);
		line[len] = 0;
		go_line(&t, line);
		at += len + (at[len] == '\n');
	}
	print(&t, -1, 0, out);
	coati_strbuf_fini(&text);
}

/* ---- ours ---- */

static void *query(void *parent)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "query", parent);
	COATI_TASK_SCOPE(&task);
	{
		COATI_REGION("db");
		COATI_LOG("db", "%s", "select 1");
	}
	coati_task_end(&task);
	return NULL;
}

static void parse(void)
{
	COATI_REGION("parse");
	{
		COATI_REGION("headers");
	}
	{
		COATI_REGION("body");
		COATI_LOG("http", "%d bytes", 12);
	}
}

static void request(const char *path)
{
	struct coati_live_task task;
	pthread_t thread;

	COATI_TASK_BEGIN(&task, "request", NULL);
	COATI_TASK_SCOPE(&task);
	COATI_LOG("http", "%s", path);
	parse();
	for (int i = 0; i < 2; i++) {
		CHECK_INT(pthread_create(&thread, NULL, query, &task), ==, 0);
		CHECK_INT(pthread_join(thread, NULL), ==, 0);
	}
	{
		COATI_REGION("reply");
	}
	coati_task_end(&task);
	coati_task_end(&task);
}

static void take_event(struct tree *t, const struct coati_trace_event *e)
{
	struct node *n;

	if (e->flags & COATI_TRACE_KNOWN)
		return;
	CHECK(!(e->flags & (COATI_TRACE_UNRESOLVED | COATI_TRACE_LATE)));
	switch (e->kind) {
	case COATI_TRACE_TASK_BEGIN:
		n = add(t, task_node(t, e->parent), e->tid, e->id);
		snprintf(n->what, sizeof(n->what), "task %.*s", (int)e->site->name.size,
			 e->site->name.text);
		break;
	case COATI_TRACE_TASK_END:
		t->v[task_node(t, e->id)].is_open = false;
		break;
	case COATI_TRACE_REGION_BEGIN:
		n = add(t, place_of(t, e->tid, e->task), e->tid, e->task);
		n->is_region = true;
		snprintf(n->what, sizeof(n->what), "region %.*s", (int)e->site->name.size,
			 e->site->name.text);
		break;
	case COATI_TRACE_REGION_END:
		end_region(t, e->tid, e->task);
		break;
	case COATI_TRACE_LOG:
		n = add(t, place_of(t, e->tid, e->task), e->tid, e->task);
		n->is_open = false;
		snprintf(n->what, sizeof(n->what), "log %.*s: %.*s", (int)e->site->category.size,
			 e->site->category.text, (int)e->text.size, e->text.text);
		break;
	default:
		break;
	}
}

static void drain(struct coati_live_reader *trace, struct coati_trace_check *c, struct tree *t)
{
	struct coati_trace_finding f;
	const struct coati_trace_event *e;
	int n;

	while ((n = coati_live_reader_next(trace, &e)) > 0) {
		if (coati_trace_check_event(c, e, &f) != 0)
			test_fail_at(__FILE__, __LINE__, "%s", f.text);
		take_event(t, e);
	}
	CHECK_INT(n, ==, 0);
}

/* The memory of our own recorder, while it runs. */
static void read_flight(const char *path, struct tree *t)
{
	struct coati_trace_check *c = NULL;
	struct coati_live_reader *trace = NULL;
	struct coati_flight_info info;
	struct coati_flight *f = NULL;
	const void *bytes;
	uint64_t where;
	size_t size;

	CHECK_INT(coati_flight_open(path, &f, NULL), ==, 0);
	CHECK_INT(coati_live_reader_new(NULL, &trace, NULL), ==, 0);
	CHECK_INT(coati_trace_check_new(&c, NULL), ==, 0);
	while (coati_flight_next(f, &bytes, &size, &where) > 0) {
		CHECK_INT(coati_live_reader_feed(trace, bytes, size, where, NULL), ==, 0);
		drain(trace, c, t);
	}
	CHECK_INT(coati_live_reader_finish(trace), ==, 0);
	drain(trace, c, t);
	CHECK_INT(coati_live_reader_damage(trace)->code, ==, 0);
	coati_flight_get_info(f, &info);
	CHECK(info.is_alive || test_emulated());
	CHECK_U64(info.pid, ==, getpid());
	coati_trace_check_free(&c);
	coati_live_reader_free(&trace);
	coati_flight_close(&f);
}

static void find_and_read(struct tree *t)
{
	DIR *d = opendir("rec");
	char path[300] = "";

	CHECK(d);
	for (const struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.')
			snprintf(path, sizeof(path), "rec/%s", e->d_name);
	closedir(d);
	read_flight(path, t);
}

static void scenario(struct tree *t)
{
	struct coati_live_task left;

	request("GET /");
	request("GET /again");
	COATI_TASK_BEGIN(&left, "left", NULL);
	COATI_TASK_SCOPE(&left);
	COATI_REGION("forever");
	COATI_LOG("end", "%s", "not yet");
	find_and_read(t);
}

TEST(live_trace_has_the_tree_that_go_has_for_the_same_scenario)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .bytes = 4 << 20, .directory = "rec" };
	struct strbuf ours = STRBUF_INIT(1 << 16), go = STRBUF_INIT(1 << 16);
	struct coati_recorder *rec = NULL;
	static struct tree t;

	CHECK_INT(coati_recorder_start(&o, &rec, NULL), ==, 0);
	scenario(&t);
	CHECK_INT(coati_recorder_stop(&rec, NULL), ==, 0);
	print(&t, -1, 0, &ours);
	go_tree(&go);
	CHECK_HAS(go.text, "task request\n"
			   "  log http: GET /\n"
			   "  region parse\n"
			   "    region headers\n"
			   "    region body\n"
			   "      log http: 12 bytes\n"
			   "  task query\n"
			   "    region db\n"
			   "      log db: select 1\n");
	CHECK_HAS(go.text, "task left, open\n  region forever, open\n    log end: not yet\n");
	CHECK_STR(ours.text, go.text);
	coati_strbuf_fini(&ours);
	coati_strbuf_fini(&go);
}
