/* SPDX-License-Identifier: MIT */
/* The conditions of a command line; see figures.h. */
#include "cli/command.h"
#include "cli/figures.h"
#include "cli/talk.h"

#define ANY_FIGURE UINT32_MAX

int coati_conditions_check(const struct coati_command *cmd, const struct option_texts *texts,
			   uint32_t known)
{
	for (size_t i = 0; i < texts->len; i++) {
		struct figure_condition c;
		struct coati_error err = { 0 };
		char quoted[96];

		if (coati_condition_parse(texts->v[i].text, known, &c, &err) == 0)
			continue;
		coati_quote(texts->v[i].text, quoted, sizeof(quoted));
		return coati_command_misuse(cmd, "--fail-if %s, column %d: %s", quoted, err.column,
					    err.text);
	}
	return 0;
}

static enum figure_result judge_text(const char *text, const struct figures *f,
				     struct figure_condition *c, double *value)
{
	/* it was parsed before */
	if (coati_condition_parse(text, ANY_FIGURE, c, NULL) < 0)
		return FIGURE_UNKNOWN;
	return coati_condition_judge(c, f, value);
}

int coati_conditions_judge(const struct option_texts *texts, const struct figures *f)
{
	int ret = EXIT_DONE;

	for (size_t i = 0; i < texts->len; i++) {
		struct figure_condition c = { 0 };
		double value = 0;
		enum figure_result result = judge_text(texts->v[i].text, f, &c, &value);
		char quoted[96];

		if (result == FIGURE_PASSED)
			continue;
		coati_quote(texts->v[i].text, quoted, sizeof(quoted));
		if (result == FIGURE_FAILED)
			coati_say(c.is_share ? "--fail-if %s holds: the value is %.2f %%"
					     : "--fail-if %s holds: the value is %.0f",
				  quoted, value);
		else
			coati_say("--fail-if %s: cannot decide: the recording has no figure for %s",
				  quoted, coati_figure_names[c.figure]);
		if (ret != EXIT_FAILED)
			ret = result == FIGURE_FAILED ? EXIT_FAILED : EXIT_UNKNOWN;
	}
	return ret;
}

void coati_conditions_json(const struct option_texts *texts, const struct figures *f,
			   struct json *j)
{
	static const char *const words[] = { "passed", "failed", "unknown" };
	bool failed = false;

	if (!texts->len)
		return;
	coati_json_key(j, "conditions");
	coati_json_array(j);
	for (size_t i = 0; i < texts->len; i++) {
		struct figure_condition c = { 0 };
		double value = 0;
		enum figure_result result = judge_text(texts->v[i].text, f, &c, &value);

		coati_json_object(j);
		coati_json_kstr(j, "condition", texts->v[i].text);
		coati_json_kstr(j, "result", words[result]);
		if (result != FIGURE_UNKNOWN)
			coati_json_kdouble(j, "value", value);
		coati_json_end(j);
		failed |= result != FIGURE_PASSED;
	}
	coati_json_end(j);
	coati_json_kbool(j, "failed", failed);
}
