/* SPDX-License-Identifier: MIT */
/* The environment comes in, what is asked for goes out. Any mistake ends it: a user who asked for a
 * rate does not get another one. */
#include <coati/sampler.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/parse.h"
#include "live/auto/auto.h"

/* ---- signals ---- */

/* "USR2" */
static int named(const char *name)
{
	for (int i = 1; i < SIGRTMIN; i++) {
		const char *known = sigabbrev_np(i);

		if (known && !strcasecmp(name, known))
			return i;
	}
	return 0;
}

/* "RTMIN", "RTMIN+3", "RTMAX-1" */
static int real_time(const char *name)
{
	bool from_max = !strncasecmp(name, "RTMAX", 5);
	uint32_t n = 0, most = (uint32_t)(SIGRTMAX - SIGRTMIN);

	if (!from_max && strncasecmp(name, "RTMIN", 5))
		return 0;
	if (name[5] &&
	    (name[5] != (from_max ? '-' : '+') || coati_parse_u32(name + 6, 0, most, &n) < 0))
		return 0;
	return from_max ? SIGRTMAX - (int)n : SIGRTMIN + (int)n;
}

int coati_auto_signal_parse(const char *text, int32_t *ret)
{
	static const int taken[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,	 SIGILL,
				     SIGFPE,  SIGABRT, SIGTRAP, SIGPROF, SIGSYS };
	const char *name = strncasecmp(text, "SIG", 3) ? text : text + 3;
	uint32_t number = 0;
	int sig;

	if (coati_parse_u32(text, 1, (uint32_t)SIGRTMAX, &number) == 0)
		sig = (int)number;
	else if (!(sig = named(name)))
		sig = real_time(name);
	if (!sig)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (sig == taken[i])
			return -EACCES;
	if (sig >= __SIGRTMIN && sig < SIGRTMIN)
		return -EACCES; /* of the C library */
	*ret = sig;
	return 0;
}

/* ---- the variables ---- */

static int set_signal(struct auto_config *c, const char *value)
{
	return coati_auto_signal_parse(value, &c->signal);
}

#ifdef COATI_AUTO_HEAP
static int set_rate_bytes(struct auto_config *c, const char *value)
{
	return coati_parse_u64(value, 1, UINT64_C(1) << 40, &c->rate_bytes);
}
#else
static int set_rate(struct auto_config *c, const char *value)
{
	return coati_parse_u32(value, 1, 10000, &c->rate_hz);
}

static int set_depth(struct auto_config *c, const char *value)
{
	return coati_parse_u32(value, 1, 512, &c->max_depth);
}

static int set_engine(struct auto_config *c, const char *value)
{
	if (!strcmp(value, "perf"))
		c->engine = COATI_SAMPLER_PERF;
	else if (!strcmp(value, "threads"))
		c->engine = COATI_SAMPLER_THREADS;
	else if (!strcmp(value, "timer"))
		c->engine = COATI_SAMPLER_TIMER;
	else
		return -EINVAL;
	return 0;
}

static int set_mode(struct auto_config *c, const char *value)
{
	if (!strcmp(value, "wall"))
		c->clock = COATI_SAMPLER_WALL;
	else if (strcmp(value, "cpu") != 0)
		return -EINVAL;
	return 0;
}
#endif

static int set_stacks(struct auto_config *c, const char *value)
{
	if (!strcmp(value, "pointers"))
		c->stacks = COATI_SAMPLER_STACKS_POINTERS;
	else if (!strcmp(value, "tables"))
		c->stacks = COATI_SAMPLER_STACKS_TABLES;
	else if (strcmp(value, "auto") != 0)
		return -EINVAL;
	return 0;
}

static int set_names(struct auto_config *c, const char *value)
{
	uint32_t on;
	int r = coati_parse_u32(value, 0, 1, &on);

	if (r == 0 && !on)
		c->flags &= ~COATI_SAMPLER_NAMES;
	return r;
}

static int set_children(struct auto_config *c, const char *value)
{
	uint32_t on;
	int r = coati_parse_u32(value, 0, 1, &on);

	if (r == 0)
		c->children = on;
	return r;
}

static const struct {
	const char *name;
	int (*set)(struct auto_config *c, const char *value);
	const char *allowed;
} variables[] = {
#ifdef COATI_AUTO_HEAP
	{ "COATI_HEAP_RATE", set_rate_bytes,
	  "bytes that one sample stands for on average, 1 (every block) to 2^40" },
#else
	{ "COATI_FREQUENCY", set_rate, "samples for each second, 1 to 10000" },
	{ "COATI_MODE", set_mode, "cpu or wall" },
	{ "COATI_ENGINE", set_engine, "perf, threads or timer" },
	{ "COATI_DEPTH", set_depth, "frames of a stack, 1 to 512" },
#endif
	{ "COATI_SIGNAL", set_signal,
	  "a signal by name or number that nothing else needs, such as USR2" },
	{ "COATI_STACKS", set_stacks, "auto, pointers or tables" },
	{ "COATI_NAMES", set_names, "1, or 0 for addresses alone" },
	{ "COATI_CHILDREN", set_children, "1, or 0 for this process alone" },
};

/* @pattern as it holds wherever the program goes. */
static int make_absolute(struct auto_config *c, const char *pattern, struct coati_error *err)
{
	struct strbuf s = STRBUF_INIT(AUTO_PATTERN_MAX);
	char cwd[AUTO_PATH_MAX];

	c->keep = pattern[0] == '+';
	pattern += c->keep;
	if (pattern[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return coati_fail(err, -errno,
					  AUTO_VARIABLE "=%.200s: the current directory: %m",
					  pattern);
		for (const char *at = cwd; *at; at++) {
			coati_strbuf_addc(&s, *at);
			if (*at == '%')
				coati_strbuf_addc(&s, '%');
		}
		coati_strbuf_addc(&s, '/');
	}
	coati_strbuf_adds(&s, pattern);
	if (s.failed) {
		int r = s.failed;

		coati_strbuf_fini(&s);
		return coati_fail(err, r, AUTO_VARIABLE "=%.60s...: %s", pattern,
				  r == -E2BIG ? "longer than file names can be" : "no memory");
	}
	c->pattern = coati_strbuf_take(&s);
	return 0;
}

int coati_auto_config_read(struct auto_config *ret, const char *pattern, auto_getenv_fn get,
			   struct coati_error *err)
{
	struct auto_config c = { .children = true, .flags = COATI_SAMPLER_NAMES };
	int r;

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = get(variables[i].name);

		r = value && *value ? variables[i].set(&c, value) : 0;
		if (r < 0)
			return coati_fail(err, r, "%s=%.100s: it must be %s; no profile is taken",
					  variables[i].name, value, variables[i].allowed);
	}
	r = make_absolute(&c, pattern, err);
	if (r == 0)
		*ret = c;
	return r;
}

void coati_auto_config_fini(struct auto_config *c)
{
	coati_free(c->pattern);
	c->pattern = NULL;
}
