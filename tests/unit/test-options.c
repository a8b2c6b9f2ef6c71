/* SPDX-License-Identifier: MIT */
/* The option walker: what it understands, what it refuses and with which words, what it prints. */
#include "base/options.h"

#include <stdio.h>

#include "base/alloc.h"
#include "lib/test.h"

struct args {
	bool verbose, quiet, scale;
	const char *out, *cpus;
	struct option_texts events;
	struct option_ids pids;
	uint32_t repeat;
	uint64_t big, size, interval, rate;
	int64_t nice;
	int color;
};

static const char *const colors[] = { "auto", "always", "never", NULL };

static const struct option table[] = {
	OPT_HEAD("What"),
	OPT_TEXTS('e', "event", struct args, events, 'e', "EVENT", "events to count"),
	OPT_TEXTS(0, "filter", struct args, events, 'f', "TEXT", "only where TEXT holds"),
	OPT_IDS('p', "pid", struct args, pids, "PID", "processes"),
	OPT_CPUS('C', "cpu", struct args, cpus, "CPUS", "CPUs"),
	OPT_HEAD("How"),
	OPT_FLAG('v', "verbose", struct args, verbose, "say more"),
	OPT_FLAG('q', "quiet", struct args, quiet, "say less"),
	OPT_SWITCH(0, "scale", struct args, scale, "scale the counts"),
	OPT_STR('o', "output", struct args, out, "FILE", "write to FILE"),
	OPT_U32('r', "repeat", struct args, repeat, "N", "run N times", 1, 1000),
	OPT_U64(0, "big", struct args, big, "N", "large", 0, UINT64_MAX),
	OPT_I64(0, "nice", struct args, nice, "N", "signed", -20, 19),
	OPT_SIZE(0, "size", struct args, size, "BYTES", "a size", 4096, 1 << 30),
	OPT_DURATION('I', "interval", struct args, interval, "TIME", "every so often", 1000000,
		     UINT64_C(3600000000000)),
	OPT_RATE('F', "freq", struct args, rate, "HZ", "rate", 1, 100000),
	OPT_CHOICE(0, "color", struct args, color, colors, "WHEN", "auto, always or never"),
	OPT_HELP,
	OPT_END,
};

/* One parse of up to 15 words; the operands stay in line. */
struct parsed {
	struct args args;
	struct option_line line;
	struct coati_error err;
	char words[16][64];
	char *argv[17];
	int ret;
};

static void parse(struct parsed *p, bool stops, const char *const *words)
{
	memset(p, 0, sizeof(*p));
	p->args.events.max = 64;
	p->args.pids.max = 64;
	p->line.stops = stops;
	p->line.argv = p->argv;
	for (; words[p->line.argc]; p->line.argc++) {
		snprintf(p->words[p->line.argc], 64, "%s", words[p->line.argc]);
		p->argv[p->line.argc] = p->words[p->line.argc];
	}
	p->ret = coati_options_parse(table, &p->line, &p->args, &p->err);
}

#define PARSE(p, ...)	    parse(p, false, (const char *const[]){ __VA_ARGS__, NULL })
#define PARSE_STOPS(p, ...) parse(p, true, (const char *const[]){ __VA_ARGS__, NULL })

static void done(struct parsed *p)
{
	coati_options_fini(table, &p->args);
}

TEST(options_take_values_in_all_four_spellings)
{
	static const char *const spellings[][3] = { { "-r7", NULL },
						    { "-r", "7", NULL },
						    { "--repeat=7", NULL },
						    { "--repeat", "7", NULL } };
	struct parsed p;

	for (size_t i = 0; i < 4; i++) {
		parse(&p, false, spellings[i]);
		CHECK_OK(p.ret);
		CHECK_INT(p.args.repeat, ==, 7);
		CHECK_INT(p.line.argc, ==, 0);
	}
}

TEST(options_bundle_flags_and_end_a_bundle_with_a_value)
{
	struct parsed p;

	PARSE(&p, "-vqr12");
	CHECK_OK(p.ret);
	CHECK(p.args.verbose && p.args.quiet);
	CHECK_INT(p.args.repeat, ==, 12);
	PARSE(&p, "-vqr", "13");
	CHECK_OK(p.ret);
	CHECK_INT(p.args.repeat, ==, 13);
}

TEST(options_keep_texts_of_shared_lists_in_order)
{
	struct parsed p;

	PARSE(&p, "-e", "a", "--filter", "x > 1", "--event=b");
	CHECK_OK(p.ret);
	CHECK_U64(p.args.events.len, ==, 3);
	CHECK_STR(p.args.events.v[0].text, "a");
	CHECK_STR(p.args.events.v[1].text, "x > 1");
	CHECK_INT(p.args.events.v[1].tag, ==, 'f');
	CHECK_INT(p.args.events.v[2].tag, ==, 'e');
	done(&p);
}

TEST(options_split_ids_at_commas_and_add_up)
{
	struct parsed p;

	PARSE(&p, "-p", "1,22", "-p333");
	CHECK_OK(p.ret);
	CHECK_U64(p.args.pids.len, ==, 3);
	CHECK_INT(p.args.pids.v[2], ==, 333);
	done(&p);
}

TEST(options_convert_each_kind_of_value)
{
	struct parsed p;

	PARSE(&p, "--size=64k", "--interval=1.5s", "--freq=4k", "--nice=-5", "--color=never",
	      "--big=0x10", "-C", "0-3,7");
	CHECK_OK(p.ret);
	CHECK_U64(p.args.size, ==, 65536);
	CHECK_U64(p.args.interval, ==, 1500000000);
	CHECK_U64(p.args.rate, ==, 4000);
	CHECK_INT(p.args.nice, ==, -5);
	CHECK_INT(p.args.color, ==, 2);
	CHECK_U64(p.args.big, ==, 16);
	CHECK_STR(p.args.cpus, "0-3,7");
}

TEST(options_turn_switches_off_with_no)
{
	struct parsed p;

	PARSE(&p, "--scale", "--no-scale");
	CHECK_OK(p.ret);
	CHECK(!p.args.scale);
	PARSE(&p, "--no-verbose");
	CHECK_ERR(p.ret, -EINVAL);
}

TEST(options_move_operands_to_the_front)
{
	struct parsed p;

	PARSE(&p, "one", "-v", "two", "--", "-q");
	CHECK_OK(p.ret);
	CHECK_INT(p.line.argc, ==, 3);
	CHECK_STR(p.line.argv[1], "two");
	CHECK_STR(p.line.argv[2], "-q");
	CHECK(p.args.verbose && !p.args.quiet && p.line.dashes);
}

TEST(options_stop_at_the_command_of_the_user)
{
	struct parsed p;

	PARSE_STOPS(&p, "-v", "ls", "-q", "--help", "--");
	CHECK_OK(p.ret);
	CHECK_INT(p.line.argc, ==, 4);
	CHECK_STR(p.line.argv[3], "--");
	CHECK(!p.args.quiet && !p.line.help);
}

TEST(options_take_a_lone_dash_for_an_operand)
{
	struct parsed p;

	PARSE(&p, "-o", "-", "-");
	CHECK_OK(p.ret);
	CHECK_STR(p.args.out, "-");
	CHECK_INT(p.line.argc, ==, 1);
}

TEST(options_stop_looking_when_help_is_asked_for)
{
	struct parsed p;

	PARSE(&p, "-vh", "--nonsense");
	CHECK_OK(p.ret);
	CHECK(p.line.help);
}

TEST(options_refuse_in_one_line_that_names_the_option_and_the_wish)
{
	static const struct {
		const char *word, *has, *wish;
	} bad[] = {
		{ "--repeat=0", "--repeat (-r)", "from 1 to 1000" },
		{ "--repeat=1001", "--repeat", "\"1001\"" },
		{ "--repeat=-1", "--repeat", "whole number" },
		{ "--repeat= 1", "--repeat", "whole number" },
		{ "--repeat=", "--repeat", "\"\"" },
		{ "--repeat", "--repeat", "needs a value" },
		{ "-r", "--repeat", "needs a value" },
		{ "--interval=10", "--interval", NULL }, /* a bare number is seconds: fine */
		{ "--interval=abc", "--interval", "100ms" },
		{ "--interval=1ns", "--interval", "1 ms" },
		{ "--size=1", "--size", "64k" },
		{ "--freq=0", "--freq", "4k" },
		{ "--nice=20", "--nice", "from -20 to 19" },
		{ "--color=blue", "--color", "auto, always or never" },
		{ "--cpu=3-1", "--cpu", "0-3,7" },
		{ "--pid=0", "--pid", "4711" },
		{ "--pid=1,", "--pid", "4711" },
		{ "--pid=1,x", "--pid", "4711" },
		{ "--pid=99999999999", "--pid", "4711" },
		{ "--verbose=1", "--verbose", "takes no value" },
		{ "--verbos", "--verbos", "did you mean --verbose?" },
		{ "--repaet=3", "--repaet", "did you mean --repeat?" },
		{ "--zzzzzz", "unknown option --zzzzzz", "" },
		{ "-z", "unknown option letter", "\"z\"" },
		{ "-vz", "unknown option letter", "\"z\"" },
		{ "--a\nb", "\\x0a", "" },
	};
	struct parsed p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		PARSE(&p, bad[i].word);
		done(&p);
		if (!bad[i].wish) {
			CHECK_OK(p.ret);
			continue;
		}
		CHECK_ERR(p.ret, -EINVAL);
		CHECK_HAS(p.err.text, bad[i].has);
		CHECK_HAS(p.err.text, bad[i].wish);
		CHECK(!strchr(p.err.text, '\n'));
	}
}

TEST(options_survive_every_failing_allocation)
{
	struct parsed p;

	for (uint64_t n = 0; n < 8; n++) {
		coati_alloc_fail_after(n);
		PARSE(&p, "-e", "a", "-p", "1,2,3", "-e", "b", "--repeat=x");
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(p.ret == -ENOMEM || p.ret == -EINVAL);
		CHECK(p.err.text[0]);
		done(&p);
	}
}

TEST(options_refuse_a_list_past_its_ceiling)
{
	struct parsed p;
	char many[64] = "1";

	PARSE(&p, "-v");
	p.args.pids.max = 2;
	p.line = (struct option_line){ .argc = 2, .argv = p.argv };
	snprintf(many, sizeof(many), "1,2,3");
	p.argv[0] = (snprintf(p.words[0], 64, "-p"), p.words[0]);
	p.argv[1] = many;
	CHECK_ERR(coati_options_parse(table, &p.line, &p.args, &p.err), -ENOMEM);
	done(&p);
}

TEST(options_help_has_every_option_in_a_line_of_its_own)
{
	struct strbuf s = STRBUF_INIT(16 * 1024);

	coati_options_help(table, &s);
	CHECK_HAS(s.text, "What:\n  -e, --event EVENT         events to count\n");
	CHECK_HAS(s.text, "      --[no-]scale          scale the counts\n");
	for (const struct option *o = table; o->kind; o++)
		CHECK_HAS(s.text, o->name);
	coati_strbuf_fini(&s);
}

TEST(quote_tames_control_characters_and_cuts_long_text)
{
	char buf[32];

	CHECK_STR(coati_quote("a\tb", buf, sizeof(buf)), "\"a\\x09b\"");
	coati_quote("0123456789012345678901234567890123456789", buf, sizeof(buf));
	CHECK(strlen(buf) < sizeof(buf));
	CHECK_HAS(buf, "...\"");
	coati_quote("\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1", buf, sizeof(buf));
	CHECK(strlen(buf) < sizeof(buf));
}
