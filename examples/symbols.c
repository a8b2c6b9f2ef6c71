/* SPDX-License-Identifier: MIT */
/* Symbolizes the samples of a recording: thread, function and file. symbols [FILE] */
#include <coati/process.h>
#include <coati/recording.h>

#include <stdio.h>

struct symbols {
	struct coati_images *images;
	struct coati_processes *processes;
};

static void print_sample(const struct symbols *s, const struct coati_record *rec)
{
	struct coati_image_info info = { .size = sizeof(info) };
	struct coati_address a = { .time = rec->id.time };
	int32_t pid = (int32_t)rec->id.pid, tid = (int32_t)rec->id.tid;
	uint64_t ip = rec->u.sample.ip, time = rec->id.time;
	struct coati_thread_info thread;
	struct coati_place place;
	int r = (rec->misc & COATI_MISC_CPUMODE_MASK) == COATI_MISC_KERNEL
			? coati_processes_find_kernel(s->processes, ip, time, &place)
			: coati_processes_find(s->processes, pid, ip, time, &place);

	if (r < 0 || coati_processes_thread(s->processes, pid, tid, time, &thread) < 0)
		return;
	a.image = place.image;
	a.vaddr = place.vaddr;
	if (coati_images_resolve(s->images, &a, 1, COATI_RESOLVE_INLINES, NULL) == 0 &&
	    coati_image_info(s->images, a.image, &info) == 0)
		printf("%s: %s (%s)\n", thread.comm, a.names[0].function, info.name);
}

int main(int argc, char **argv)
{
	const struct coati_sample_format *format;
	struct symbols s = { NULL, NULL };
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_record rec;
	struct coati_error err = { 0, 0, "" };

	if (coati_recording_open(argc > 1 ? argv[1] : "coati.data", NULL, &r, &err) == 0 &&
	    coati_images_new(NULL, &s.images, &err) == 0 &&
	    coati_processes_new(s.images, NULL, &s.processes, &err) == 0)
		while (coati_recording_next(r, &item) > 0) {
			format = coati_format_table_get(coati_recording_formats(r), item.event);
			if (!format || coati_record_decode(&item.raw, format, &rec) < 0)
				continue;
			coati_processes_feed(s.processes, &item.raw, &rec);
			if (rec.type == COATI_RECORD_SAMPLE)
				print_sample(&s, &rec);
		}
	if (err.code)
		fprintf(stderr, "symbols: %s\n", err.text);
	coati_processes_free(&s.processes);
	coati_images_free(&s.images);
	coati_recording_close(&r);
	return err.code != 0;
}
