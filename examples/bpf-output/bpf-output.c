/* SPDX-License-Identifier: MIT */
/*
 * Reads the output of a BPF program through both kinds of ring buffer. Runs a command and shows
 * every program that is started meanwhile; exec.bpf.c is the part in the kernel. To be copied.
 *
 *	bpf-output [--late] exec.bpf.o NAME COMMAND [ARGUMENT...]
 *
 * NAME is the name of the programs to show, "" for all. With --late nothing is read before the
 * command has ended, so that it can be seen how loss is reported. Needs root, Linux 6.1 (for the
 * user ring; without it 5.8), BTF of the kernel (/sys/kernel/btf/vmlinux) and tracefs.
 *
 * Built with libcoati and libbpf. libbpf loads the object file and writes the name into the user
 * ring buffer; the rest is coati's:
 *
 *	attach	coati_event_open() on the tracepoint, coati_event_set_bpf() with the program's
 *		descriptor
 *	read	coati_bpf_array_open() for the perf event array; its reader takes the ring buffer
 *		too, so that one loop
 *		serves both; coati_ring_watch_drops() tells it where the program counts what found
 *		no room
 */
#include <coati/coati.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec.h"

#define RING_KEY (-2) /* the other rings of the reader have the numbers of their CPUs */

struct watch {
	struct bpf_object *object;
	struct coati_event *tracepoint;
	struct coati_bpf_array *array;
	struct coati_reader *reader;
	struct user_ring_buffer *wishes;
	unsigned long long ring_read, ring_lost, array_read, array_lost;
};

static struct coati_reader *reader_to_flush;

/* The command has ended: what was put out by now is delivered, then the reader says so. */
static void on_child(int unused)
{
	coati_reader_flush(reader_to_flush); /* may be called from a signal handler */
}

static int map_of(const struct watch *w, const char *name)
{
	return bpf_object__find_map_fd_by_name(w->object, name);
}

/* libbpf loads the maps and the program, and says on stderr what is wrong with them. */
static int load(struct watch *w, const char *path, struct coati_error *err)
{
	int r;

	w->object = bpf_object__open_file(path, NULL);
	r = w->object ? bpf_object__load(w->object) : -errno;
	if (r < 0)
		snprintf(err->text, sizeof(err->text), "%s: %s", path, strerror(-r));
	return r;
}

/* A tracepoint with a program runs it on all CPUs, whichever of them the event is for. */
static int attach(struct watch *w, struct coati_error *err)
{
	struct bpf_program *program = bpf_object__find_program_by_name(w->object, "on_exec");
	struct coati_event_list *list = NULL;
	int r = coati_event_list_new(NULL, &list, err);

	if (r == 0)
		r = coati_event_list_add(list, "sched:sched_process_exec", err);
	if (r == 0)
		r = coati_event_open(&coati_event_list_get(list, 0)->attr, &COATI_ON(-1, 0), NULL,
				     &w->tracepoint, err);
	if (r == 0)
		r = coati_event_set_bpf(w->tracepoint, bpf_program__fd(program), err);
	if (r == 0)
		r = coati_event_enable(w->tracepoint);
	coati_event_list_free(list);
	return r;
}

/* Rings of a page each, so that loss can be shown; 0 for data_bytes is half a megabyte. */
static int open_rings(struct watch *w, struct coati_error *err)
{
	struct coati_bpf_array_opts opts = { .size = sizeof(opts), .data_bytes = 4096 };
	struct coati_reader_ring_opts ring = {
		.size = sizeof(ring), .ring = { .kind = COATI_RING_BPF, .key = RING_KEY }
	};
	struct coati_ring *at;
	int r = coati_bpf_array_open(map_of(w, "array"), &opts, &w->array, err);

	if (r < 0)
		return r;
	w->reader = coati_bpf_array_reader(w->array);
	r = coati_reader_add(w->reader, map_of(w, "ring"), &ring, err);
	for (uint32_t i = 0; r == 0 && (at = coati_reader_ring(w->reader, i)); i++)
		if (coati_ring_key(at) == RING_KEY)
			r = coati_ring_watch_drops(at, map_of(w, "counts"), EXEC_DROPS, err);
	return r;
}

/* The program reads the wish when it runs next. */
static int wish(struct watch *w, const char *name)
{
	struct exec_wish *room;

	w->wishes = user_ring_buffer__new(map_of(w, "wishes"), NULL);
	room = w->wishes ? user_ring_buffer__reserve(w->wishes, sizeof(*room)) : NULL;
	if (!room)
		return -errno;
	memset(room, 0, sizeof(*room));
	memcpy(room->name, name, strnlen(name, sizeof(room->name) - 1));
	user_ring_buffer__submit(w->wishes, room);
	return 0;
}

static void show(struct watch *w, const struct coati_ring_item *item)
{
	struct coati_span payload = { item->bytes, item->size };
	int is_ring = item->key == RING_KEY;
	struct exec_event event;

	if (item->kind == COATI_ITEM_LOSS) {
		*(is_ring ? &w->ring_lost : &w->array_lost) += item->count;
		return;
	}
	if (item->kind != COATI_ITEM_RECORD ||
	    (!is_ring && coati_bpf_array_payload(w->array, item, &payload) <= 0) ||
	    payload.size < sizeof(event))
		return; /* DAMAGE and END, and records that are no samples */
	memcpy(&event, payload.bytes, sizeof(event));
	*(is_ring ? &w->ring_read : &w->array_read) += 1;
	if (is_ring)
		printf("ring    %6u of %u: %.16s %.64s\n", event.pid, event.parent, event.name,
		       event.file);
	else
		printf("CPU %-3d %6u of %u: %.16s %.64s\n", item->key, event.pid, event.parent,
		       event.name, event.file);
}

/* One loop for all rings; the views that it gets live until the next call. */
static int read_all(struct watch *w)
{
	struct coati_ring_item item;
	int r;

	while ((r = coati_reader_next(w->reader, &item)) == 1 || r == -EINTR)
		if (r == 1)
			show(w, &item);
	return r == -ECANCELED ? 0 : r; /* flushed: the command has ended */
}

static int run(struct watch *w, char **argv, int late)
{
	struct sigaction action = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
	pid_t pid;
	int r;

	reader_to_flush = w->reader;
	sigaction(SIGCHLD, &action, NULL);
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	while (late && pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	r = pid < 0 ? -errno : read_all(w);
	while (!late && pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

static void sum_up(struct watch *w)
{
	unsigned long long seen = 0;
	uint32_t key = EXEC_SEEN;

	bpf_map_lookup_elem(map_of(w, "counts"), &key, &seen);
	printf("%llu put out; ring %llu read + %llu lost; array %llu read + %llu lost\n", seen,
	       w->ring_read, w->ring_lost, w->array_read, w->array_lost);
}

int main(int argc, char **argv)
{
	int late = argc > 1 && !strcmp(argv[1], "--late");
	struct coati_error err = { 0, 0, "" };
	struct watch w = { NULL };
	int r;

	argv += late;
	if (argc - late < 4) {
		fprintf(stderr, "usage: bpf-output [--late] exec.bpf.o NAME COMMAND...\n");
		return 2;
	}
	r = load(&w, argv[1], &err);
	if (r == 0)
		r = open_rings(&w, &err);
	if (r == 0)
		r = wish(&w, argv[2]);
	if (r == 0)
		r = attach(&w, &err);
	if (r == 0)
		r = run(&w, argv + 3, late);
	if (r == 0)
		sum_up(&w);
	else
		fprintf(stderr, "bpf-output: %s\n", err.text[0] ? err.text : strerror(-r));
	coati_event_close(&w.tracepoint); /* detaches the program */
	user_ring_buffer__free(w.wishes);
	coati_bpf_array_close(&w.array); /* and its reader */
	bpf_object__close(w.object);
	return r < 0;
}
