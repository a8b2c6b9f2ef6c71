/* SPDX-License-Identifier: MIT */
/*
 * Conditions about frames. Patterns are asked once for each function, not for each frame; then
 * every stack is looked through once. What focus, ignore, hide, show and show_from do is what pprof
 * does.
 */
#include <errno.h>
#include <regex.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/match.h"
#include "profile/view.h"
#include "reading/parts.h"
#include "reading/wait.h"

#define PATTERN_MAX    1024
#define NAME_MAX_BYTES 4096 /* of a function, as far as an expression looks at it */

/* What a function's name matches. */
#define IS_FUNCTION  (1u << 0)
#define IS_IMAGE     (1u << 1)
#define IS_FOCUS     (1u << 2)
#define IS_IGNORE    (1u << 3)
#define IS_HIDE	     (1u << 4)
#define IS_SHOW	     (1u << 5)
#define IS_SHOW_FROM (1u << 6)

struct selection {
	uint8_t *matches; /* by function */
	uint8_t asked;	  /* which conditions there are */
};

bool coati_view_same_name(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) ||
	       (coati_is_glob(pattern) && coati_glob_match(pattern, name));
}

/* One of the conditions that are regular expressions. */
struct expression {
	const char *what, *pattern;
	uint8_t bit;
};

/* Is there a \1 in it? Matching one takes time that grows with a power of the length of names,
 * which are untrusted. */
static bool has_back_reference(const char *pattern)
{
	for (; *pattern; pattern++) {
		if (*pattern != '\\')
			continue;
		if (*++pattern >= '1' && *pattern <= '9')
			return true;
		if (!*pattern)
			return false;
	}
	return false;
}

static bool matches(const regex_t *regex, const char *name)
{
	char start[NAME_MAX_BYTES + 1];
	size_t len = strnlen(name, NAME_MAX_BYTES + 1);

	if (len > NAME_MAX_BYTES) {
		memcpy(start, name, NAME_MAX_BYTES);
		start[NAME_MAX_BYTES] = '\0';
		name = start;
	}
	return !regexec(regex, name, 0, NULL, 0);
}

/* Mark the functions that it matches. */
static int mark_regex(struct coati_view *v, struct selection *s, const struct expression *e,
		      struct coati_error *err)
{
	char why[128];
	regex_t regex;
	int r;

	if (!e->pattern || !*e->pattern)
		return 0;
	if (strlen(e->pattern) > PATTERN_MAX)
		return coati_fail(err, -E2BIG, "%s: a pattern has at most %d bytes", e->what,
				  PATTERN_MAX);
	if (has_back_reference(e->pattern))
		return coati_fail(
			err, -EINVAL,
			"%s: \"%s\" has a back reference, which is not supported: write the text "
			"out",
			e->what, e->pattern);
	r = regcomp(&regex, e->pattern, REG_EXTENDED | REG_NOSUB);
	if (r) {
		regerror(r, &regex, why, sizeof(why));
		return coati_fail(err, -EINVAL, "%s: \"%s\" is not a regular expression: %s",
				  e->what, e->pattern, why);
	}
	s->asked |= e->bit;
	for (uint32_t i = 0; i < v->nr_functions; i++)
		if (matches(&regex, v->frames.v[v->function_frame[i]].function))
			s->matches[i] |= e->bit;
	regfree(&regex);
	return 0;
}

static bool is_image(const struct coati_view *v, uint32_t frame, const char *pattern)
{
	const struct coati_view_frame *f = &v->frames.v[frame];
	struct coati_image_info info = { .size = sizeof(info) };

	return coati_view_same_name(pattern, f->image) ||
	       (f->image_id != COATI_IMAGE_NONE &&
		coati_image_info(v->profile->images, f->image_id, &info) == 0 && info.path &&
		coati_view_same_name(pattern, info.path));
}

static void mark_names(struct coati_view *v, struct selection *s, const struct coati_filter *f)
{
	bool by_function = f->function && *f->function, by_image = f->image && *f->image;

	s->asked |= (uint8_t)((by_function ? IS_FUNCTION : 0) | (by_image ? IS_IMAGE : 0));
	for (uint32_t i = 0; i < v->nr_functions; i++) {
		uint32_t frame = v->function_frame[i];

		if (by_function && coati_view_same_name(f->function, v->frames.v[frame].function))
			s->matches[i] |= IS_FUNCTION;
		if (by_image && is_image(v, frame, f->image))
			s->matches[i] |= IS_IMAGE;
	}
}

static bool is_cut(const struct coati_view *v, const struct coati_profile_stack *stack)
{
	if (v->cut_location == VIEW_NONE || !(stack->flags & PROFILE_STACK_CUT))
		return false;
	if (stack->flags & (COATI_STACK_TRUNCATED | COATI_STACK_GAP))
		return !coati_profile_ends_in_root(v->profile, stack);
	return !coati_profile_has_root(v->profile, stack);
}

/* All frames of the locations of a stack, into @to (NULL: only count). @plain: functions as linked
 * alone. */
static uint32_t expand(const struct coati_view *v, const struct coati_profile_stack *stack,
		       bool plain, uint32_t *to)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < stack->nr; i++) {
		uint32_t frame = v->first_frame[stack->locations[i]];
		uint32_t end = v->first_frame[stack->locations[i] + 1];

		if (plain)
			frame = end - 1;
		for (; frame < end; frame++, nr++)
			if (to)
				to[nr] = frame;
	}
	if (is_cut(v, stack)) {
		if (to)
			to[nr] = v->first_frame[v->cut_location];
		nr++;
	}
	return nr;
}

/* Leave frames out by hide, show and show_from; false: nothing is left. */
static bool cut(const struct coati_view *v, const struct selection *s, struct view_stack *stack)
{
	uint32_t nr = 0, end = 0;

	for (uint32_t i = 0; i < stack->nr; i++)
		if (s->matches[v->frames.v[stack->frames[i]].function_id] & IS_SHOW_FROM)
			end = i + 1;
	if (!(s->asked & IS_SHOW_FROM))
		end = stack->nr;
	for (uint32_t i = 0; i < end; i++) {
		uint8_t m = s->matches[v->frames.v[stack->frames[i]].function_id];

		if (m & IS_HIDE || (s->asked & IS_SHOW && !(m & IS_SHOW)))
			continue;
		stack->frames[nr++] = stack->frames[i];
	}
	stack->nr = nr;
	return nr;
}

/*
 * Time off the CPUs begins with what led into the scheduler, not with the scheduler's own frames,
 * which all of it has. They lie innermost, or behind the frame that says "[preempted]". Where
 * nothing else is known, one of them stays.
 */
static void leave_scheduler_out(const struct coati_view *v, struct view_stack *stack)
{
	uint32_t from = 0, end;

	while (from < stack->nr &&
	       v->frames.v[stack->frames[from]].location_flags & COATI_LOCATION_OFF_CPU)
		from++;
	for (end = from; end < stack->nr; end++) {
		const struct coati_view_frame *f = &v->frames.v[stack->frames[end]];

		if (!(f->location_flags & COATI_LOCATION_KERNEL) ||
		    !coati_is_scheduler(f->function))
			break;
	}
	if (end == stack->nr && !from && end)
		end--;
	memmove(stack->frames + from, stack->frames + end,
		(stack->nr - end) * sizeof(*stack->frames));
	stack->nr -= end - from;
}

/* Does the stack stay? */
static bool stays(const struct coati_view *v, const struct selection *s, struct view_stack *stack)
{
	const uint8_t wanted = s->asked & (IS_FUNCTION | IS_IMAGE | IS_FOCUS);
	uint8_t seen = 0;

	for (uint32_t i = 0; i < stack->nr; i++)
		seen |= s->matches[v->frames.v[stack->frames[i]].function_id];
	if (seen & IS_IGNORE || (seen & wanted) != wanted)
		return false;
	return !(s->asked & (IS_HIDE | IS_SHOW | IS_SHOW_FROM)) || cut(v, s, stack);
}

static int select_stacks(struct coati_view *v, const struct selection *s)
{
	for (size_t i = 0; i < v->profile->stacks.len; i++) {
		const struct coati_profile_stack *from = &v->profile->stacks.v[i];
		struct view_stack *stack = &v->stacks[i];
		bool plain;

		if (!stack->is_in)
			continue;
		stack->nr = expand(v, from, false, NULL);
		plain = stack->nr - from->nr + v->nr_expanded >
			v->profile->max_bytes / VIEW_FRAME_BYTES;
		if (plain)
			stack->nr = expand(v, from, true, NULL);
		v->nr_plain += plain;
		v->nr_expanded += stack->nr - from->nr;
		stack->frames = coati_arena_alloc(&v->arena, stack->nr * sizeof(*stack->frames));
		if (!stack->frames)
			return -ENOMEM;
		expand(v, from, plain, stack->frames);
		stack->is_in = !s->asked || stays(v, s, stack);
		if (stack->is_in && !stack->is_on)
			leave_scheduler_out(v, stack);
	}
	return 0;
}

int coati_view_select(struct coati_view *v, const struct coati_filter *f, struct coati_error *err)
{
	CLEANUP(freep) uint8_t *matches = coati_alloc_array((size_t)v->nr_functions + 1, 1);
	struct selection s = { .matches = matches };
	const struct expression expressions[] = { { "focus", f->focus, IS_FOCUS },
						  { "ignore", f->ignore, IS_IGNORE },
						  { "hide", f->hide, IS_HIDE },
						  { "show", f->show, IS_SHOW },
						  { "show_from", f->show_from, IS_SHOW_FROM } };
	int r = 0;

	if (!matches)
		return coati_fail(err, -ENOMEM, "out of memory");
	mark_names(v, &s, f);
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]) && r == 0; i++)
		r = mark_regex(v, &s, &expressions[i], err);
	if (r < 0)
		return r;
	return select_stacks(v, &s) < 0 ? coati_fail(err, -ENOMEM, "out of memory") : 0;
}

int coati_view_functions(struct coati_view *v, const char *pattern, bool **ret)
{
	*ret = NULL;
	if (!pattern || !*pattern)
		return 0;
	*ret = coati_alloc_array((size_t)v->nr_functions + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->nr_functions; i++)
		(*ret)[i] =
			coati_view_same_name(pattern, v->frames.v[v->function_frame[i]].function);
	return 0;
}
