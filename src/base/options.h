/* SPDX-License-Identifier: MIT */
/*
 * Command-line options as a table. The words of the command line come in, the command's own struct
 * goes out filled; help and completion are printed from the same table, so that they cannot
 * disagree with it.
 *
 *	static const struct option opts[] = {
 *		OPT_HEAD("Output"),
 *		OPT_U32('F', "freq", struct args, freq, "HZ", "samples per second", 1, 100000),
 *		OPT_STR('o', "output", struct args, out, "FILE", "write to FILE"),
 *		OPT_HELP,
 *		OPT_END
 *	};
 *
 * Understood: -F99, -F 99, --freq=99, --freq 99, bundled flags (-vq), --no-NAME for switches, -- as
 * the end. The member must have the type of its option: a wrong one does not compile. Every refusal
 * is one line that names the option, what it wants and what it got.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"

enum option_kind {
	OPTION_END = 0,
	OPTION_HEAD,	 /* a heading in the help */
	OPTION_ASK_HELP, /* -h, --help */
	OPTION_FLAG,	 /* bool */
	OPTION_STR,	 /* const char * */
	OPTION_TEXTS,	 /* struct option_texts, may be given again and again */
	OPTION_IDS,	 /* struct option_ids, "1,2,3", likewise */
	OPTION_CPUS,	 /* const char *, checked to be a CPU list */
	OPTION_U32,
	OPTION_U64,
	OPTION_I64,
	OPTION_SIZE,	 /* uint64_t bytes */
	OPTION_DURATION, /* uint64_t nanoseconds */
	OPTION_RATE,	 /* uint64_t per second */
	OPTION_CHOICE,	 /* int, index of the word in choices */
	OPTION_FOREIGN,	 /* of another tool: refused, help says what to use instead */
};

/* Texts in the order of the command line. The tag tells which option a text of a shared list
 * belongs to. Fill in max. */
struct option_text {
	const char *text;
	int tag;
};
struct option_texts {
	struct option_text *v;
	size_t len, cap, max;
};
/* Process and thread ids. Fill in max. */
struct option_ids {
	int32_t *v;
	size_t len, cap, max;
};

#define OPTION_NEGATABLE (UINT32_C(1) << 0) /* --no-NAME sets the flag to false */
/* A second spelling, as another tool has it: neither help nor completion shows it. */
#define OPTION_HIDDEN (UINT32_C(1) << 1)
/* The value may be missing: at the end, and in front of another option or --, the first choice
 * counts. */
#define OPTION_MAYBE (UINT32_C(1) << 2)

struct option {
	enum option_kind kind;
	char letter;	  /* 0: none */
	const char *name; /* without the dashes; the text of a heading */
	const char *arg;  /* how the value is called in the help, NULL: takes none */
	const char *help; /* one short line */
	size_t offset;	  /* of the member */
	uint64_t min, max;
	const char *const *choices; /* NULL at the end */
	int tag;
	uint32_t flags;
};

/* offsetof that refuses a member of another type. */
#define OPTION_AT_(type, member, want)                                                          \
	(offsetof(type, member) +                                                               \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((type *)NULL)->member), want) \
				 ? 1                                                            \
				 : -1]))
#define OPTION_RANGED_(k, l, n, type, member, want, a, h, lo, hi)                 \
	{                                                                         \
		.kind = (k), .letter = (l), .name = (n), .arg = (a), .help = (h), \
		.offset = OPTION_AT_(type, member, want), .min = (uint64_t)(lo),  \
		.max = (uint64_t)(hi)                                             \
	}

#define OPT_HEAD(text)                              \
	{                                           \
		.kind = OPTION_HEAD, .name = (text) \
	}
#define OPT_FLAG(l, n, type, member, h)                                       \
	{                                                                     \
		.kind = OPTION_FLAG, .letter = (l), .name = (n), .help = (h), \
		.offset = OPTION_AT_(type, member, bool)                      \
	}
#define OPT_SWITCH(l, n, type, member, h)                                           \
	{                                                                           \
		.kind = OPTION_FLAG, .letter = (l), .name = (n), .help = (h),       \
		.offset = OPTION_AT_(type, member, bool), .flags = OPTION_NEGATABLE \
	}
#define OPT_HIDDEN_SWITCH(n, type, member)                                                  \
	{                                                                                   \
		.kind = OPTION_FLAG, .name = (n), .offset = OPTION_AT_(type, member, bool), \
		.flags = OPTION_NEGATABLE | OPTION_HIDDEN                                   \
	}
#define OPT_STR(l, n, type, member, a, h) \
	OPTION_RANGED_(OPTION_STR, l, n, type, member, const char *, a, h, 0, 0)
#define OPT_CPUS(l, n, type, member, a, h) \
	OPTION_RANGED_(OPTION_CPUS, l, n, type, member, const char *, a, h, 0, 0)
#define OPT_IDS(l, n, type, member, a, h) \
	OPTION_RANGED_(OPTION_IDS, l, n, type, member, struct option_ids, a, h, 0, 0)
#define OPT_TEXTS(l, n, type, member, t, a, h)                                             \
	{                                                                                  \
		.kind = OPTION_TEXTS, .letter = (l), .name = (n), .arg = (a), .help = (h), \
		.tag = (t), .offset = OPTION_AT_(type, member, struct option_texts)        \
	}
#define OPT_U32(l, n, type, member, a, h, lo, hi) \
	OPTION_RANGED_(OPTION_U32, l, n, type, member, uint32_t, a, h, lo, hi)
#define OPT_U64(l, n, type, member, a, h, lo, hi) \
	OPTION_RANGED_(OPTION_U64, l, n, type, member, uint64_t, a, h, lo, hi)
#define OPT_I64(l, n, type, member, a, h, lo, hi) \
	OPTION_RANGED_(OPTION_I64, l, n, type, member, int64_t, a, h, lo, hi)
#define OPT_SIZE(l, n, type, member, a, h, lo, hi) \
	OPTION_RANGED_(OPTION_SIZE, l, n, type, member, uint64_t, a, h, lo, hi)
#define OPT_DURATION(l, n, type, member, a, h, lo, hi) \
	OPTION_RANGED_(OPTION_DURATION, l, n, type, member, uint64_t, a, h, lo, hi)
#define OPT_RATE(l, n, type, member, a, h, lo, hi) \
	OPTION_RANGED_(OPTION_RATE, l, n, type, member, uint64_t, a, h, lo, hi)
#define OPT_CHOICE(l, n, type, member, words, a, h)                                         \
	{                                                                                   \
		.kind = OPTION_CHOICE, .letter = (l), .name = (n), .arg = (a), .help = (h), \
		.offset = OPTION_AT_(type, member, int), .choices = (words)                 \
	}
#define OPT_CHOICE_MAYBE(l, n, type, member, words, a, h)                                          \
	{                                                                                          \
		.kind = OPTION_CHOICE, .letter = (l), .name = (n), .arg = (a), .help = (h),        \
		.offset = OPTION_AT_(type, member, int), .choices = (words), .flags = OPTION_MAYBE \
	}
#define OPT_HIDDEN_STR(n, type, member, a)                                           \
	{                                                                            \
		.kind = OPTION_STR, .name = (n), .arg = (a), .flags = OPTION_HIDDEN, \
		.offset = OPTION_AT_(type, member, const char *)                     \
	}
/* What to use instead, a sentence: "use --mode off". */
#define OPT_FOREIGN(n, h)                                                                \
	{                                                                                \
		.kind = OPTION_FOREIGN, .name = (n), .help = (h), .flags = OPTION_HIDDEN \
	}
/* One that has a letter, too. */
#define OPT_FOREIGN_LETTER(l, n, h)                                              \
	{                                                                        \
		.kind = OPTION_FOREIGN, .letter = (l), .name = (n), .help = (h), \
		.flags = OPTION_HIDDEN                                           \
	}
#define OPT_HELP                                                                                 \
	{                                                                                        \
		.kind = OPTION_ASK_HELP, .letter = 'h', .name = "help", .help = "show this help" \
	}
#define OPT_END                    \
	{                          \
		.kind = OPTION_END \
	}

/* A command line on its way: the words behind the verb in, the operands out. */
struct option_line {
	int argc;
	char **argv; /* operands are moved to the front */
	bool stops;  /* the first operand ends the options: it starts a command of the user */
	bool dashes; /* out: a -- was there */
	bool help;   /* out: help was asked for; what follows it was not looked at */
};

/* Fill @args from @line and leave the operands in it. -EINVAL with the sentence, -ENOMEM. Values
 * are views into argv; lists are freed by coati_options_fini(). */
int coati_options_parse(const struct option *table, struct option_line *line, void *args,
			struct coati_error *err);
/* Free the lists that @args has for @table. */
void coati_options_fini(const struct option *table, void *args);

/* Is it for people to see: neither a heading nor a spelling of another tool? */
bool coati_option_is_shown(const struct option *o);
/* The options as lines of help. */
void coati_options_help(const struct option *table, struct strbuf *out);

/* @text in quotes as a message may show it: cut when long, control characters as \xNN. Returns
 * @buf. */
const char *coati_quote(const char *text, char *buf, size_t size);
