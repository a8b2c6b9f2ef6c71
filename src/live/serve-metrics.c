/* SPDX-License-Identifier: MIT */
/*
 * /metrics: numbers of the process and of the library in the text format of Prometheus, or in
 * OpenMetrics for who asks for that. The two differ in the name of a counter in its head, and in
 * the line that ends the text.
 */
#include "live/serve-pages.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <coati/live.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"

static void put_head(struct page_metrics *m, const char *name, const char *type, const char *help)
{
	const char *suffix = !m->is_open && !strcmp(type, "counter") ? "_total" : "";

	coati_strbuf_printf(m->to, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name,
			    suffix, type);
	coati_strbuf_printf(m->to, "%s%s ", name, strcmp(type, "counter") ? "" : "_total");
}

static void put_number(struct page_metrics *m, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	put_head(m, name, type, help);
	coati_strbuf_printf(m->to, "%" PRIu64 "\n", value);
}

static void put_counter(struct page_metrics *m, const char *name, const char *help, uint64_t value)
{
	put_number(m, name, "counter", help, value);
}

static void put_gauge(struct page_metrics *m, const char *name, const char *help, uint64_t value)
{
	put_number(m, name, "gauge", help, value);
}

/* @us without floating point: no locale can change its point. */
static void put_seconds(struct page_metrics *m, const char *name, const char *type,
			const char *help, uint64_t us)
{
	put_head(m, name, type, help);
	coati_strbuf_printf(m->to, "%" PRIu64 ".%06u\n", us / 1000000,
			    (unsigned int)(us % 1000000));
}

static uint64_t micros(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

static void put_usage(struct page_metrics *m)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return;
	put_seconds(m, "process_cpu_seconds", "counter", "CPU time in user and kernel mode.",
		    micros(&u.ru_utime) + micros(&u.ru_stime));
	put_counter(m, "process_major_page_faults", "Major page faults (I/O needed).",
		    (uint64_t)u.ru_majflt);
	put_counter(m, "process_minor_page_faults", "Minor page faults (no I/O).",
		    (uint64_t)u.ru_minflt);
	put_counter(m, "process_voluntary_context_switches", "Voluntary context switches.",
		    (uint64_t)u.ru_nvcsw);
	put_counter(m, "process_involuntary_context_switches", "Involuntary context switches.",
		    (uint64_t)u.ru_nivcsw);
}

uint64_t coati_stat_field(const char *stat, int field)
{
	const char *at = strrchr(stat, ')');
	uint64_t value = 0;
	char word[24];

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	at++;
	if (strcspn(at, " \n") >= sizeof(word))
		return 0;
	memcpy(word, at, strcspn(at, " \n"));
	word[strcspn(at, " \n")] = 0;
	(void)coati_parse_u64(word, 0, UINT64_MAX, &value);
	return value;
}

/* When the process began, in microseconds since 1970. */
static uint64_t start_us(const char *stat)
{
	struct timespec wall, boot;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return ((uint64_t)wall.tv_sec - (uint64_t)boot.tv_sec) * 1000000 +
	       coati_stat_field(stat, 22) * 1000000 / hz;
}

static void put_stat(struct page_metrics *m)
{
	CLEANUP(coati_strbuf_fini) struct strbuf stat = STRBUF_INIT(8192);

	if (coati_file_read(AT_FDCWD, "/proc/self/stat", &stat) < 0)
		return;
	put_gauge(m, "process_threads", "Threads now.", coati_stat_field(stat.text, 20));
	put_gauge(m, "process_virtual_memory_bytes", "Address space in use.",
		  coati_stat_field(stat.text, 23));
	put_gauge(m, "process_resident_memory_bytes", "Memory in use.",
		  coati_stat_field(stat.text, 24) * (uint64_t)sysconf(_SC_PAGESIZE));
	put_seconds(m, "process_start_time_seconds", "gauge", "Start of the process since 1970.",
		    start_us(stat.text));
}

static void put_files(struct page_metrics *m)
{
	DIR *fds = opendir("/proc/self/fd");
	struct rlimit limit;
	uint64_t nr = 0;

	while (fds && readdir(fds))
		nr++;
	if (fds && nr >= 3) /* two are directories, one is ours */
		put_gauge(m, "process_open_fds", "Open descriptors.", nr - 3);
	if (fds)
		closedir(fds);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		put_gauge(m, "process_max_fds", "Descriptors that may be open.", limit.rlim_cur);
}

static void put_labels(struct page_metrics *m)
{
	struct coati_label_stats s = { .size = sizeof(s) };
	const char *name = "coati_labels_left_out";

	coati_labels_stats(&s);
	put_gauge(m, "coati_label_keys", "Keys of labels in use.", s.keys);
	coati_strbuf_printf(
		m->to, "# HELP %s%s Labels dropped or truncated, by reason.\n# TYPE %s%s counter\n",
		name, m->is_open ? "" : "_total", name, m->is_open ? "" : "_total");
	coati_strbuf_printf(
		m->to,
		"%s_total{reason=\"key\"} %" PRIu64 "\n%s_total{reason=\"size\"} %" PRIu64
		"\n%s_total{reason=\"cut\"} %" PRIu64 "\n%s_total{reason=\"memory\"} %" PRIu64
		"\n%s_total{reason=\"misuse\"} %" PRIu64 "\n",
		name, s.refused_keys, name, s.over_size, name, s.cut_values, name, s.no_memory,
		name, s.misused);
}

static void put_server(struct page_metrics *m, const struct serve_counts *c)
{
	put_gauge(m, "coati_serve_clients", "Connections now.", c->clients);
	put_counter(m, "coati_serve_requests", "Requests that were answered.", c->requests);
	put_counter(m, "coati_serve_errors", "Answers with a status of 400 or more.", c->errors);
	put_counter(m, "coati_serve_refused", "Connections refused because of their user.",
		    c->refused);
	put_counter(m, "coati_serve_timeouts", "Connections that took too long.", c->timeouts);
	put_counter(m, "coati_serve_crowded", "Idle connections closed to make room.", c->crowded);
}

void coati_serve_metrics(const struct http_request *request, const struct serve_counts *counts,
			 struct serve_answer *ret)
{
	struct page_metrics m = { request->wants_openmetrics, put_number, put_seconds, &ret->body };
	const struct live_page *page;

	ret->type = m.is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
			      : "text/plain; version=0.0.4; charset=utf-8";
	put_usage(&m);
	put_stat(&m);
	put_files(&m);
	put_labels(&m);
	put_server(&m, counts);
	for (uint32_t i = 0; (page = coati_serve_later(i)); i++)
		if (page->metrics)
			page->metrics(&m);
	if (m.is_open)
		coati_strbuf_adds(&ret->body, "# EOF\n");
}
