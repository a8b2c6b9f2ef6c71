/* SPDX-License-Identifier: MIT */
/* Any text as a list of events, over small copies of sysfs and tracefs: taken whole or refused with
 * a place in it. */
#include <string.h>

#include <coati/event.h>

#include "base/cleanup.h"
#include "event/list.h"
#include "fuzz/fuzz.h"
#include "lib/fake-tree.h"

static void check_error(const struct coati_error *err, const char *text)
{
	FUZZ_CHECK(err->text[0] && !strpbrk(err->text, "\n\r\t"));
	FUZZ_CHECK(err->column >= 1 && (size_t)err->column <= strlen(text) + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(freep) char *text = fuzz_text(data, size);
	struct coati_event_list_opts opts = { .size = sizeof(opts),
					      .sysfs = fake_shared("sys"),
					      .tracefs = fake_shared("tracing") };
	struct coati_event_list *list = NULL;
	struct coati_error err = { 0 };
	uint32_t count;

	FUZZ_CHECK(coati_event_list_new(&opts, &list, &err) == 0);
	for (int i = 0; i < 2; i++) { /* the second time it must do the same */
		int r = coati_event_list_add(list, text, &err);

		if (r < 0)
			check_error(&err, text);
		count = coati_event_list_count(list);
		FUZZ_CHECK(r < 0 ? count == 0 || r == -E2BIG : count && (i == 0 || count % 2 == 0));
	}
	for (uint32_t i = 0; i < coati_event_list_count(list); i++)
		FUZZ_CHECK(coati_event_list_get(list, i)->name[0]);
	coati_event_list_free(list);
	return 0;
}
