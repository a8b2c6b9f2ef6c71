/* SPDX-License-Identifier: MIT */
/* Logs that have to be formatted: ordinary code, as printf() is. */
#include <stdarg.h>
#include <stdio.h>

#include "live/tracer/stacks.h"

#define LOG_BYTES 1024

void coati_log(struct coati_site *site, const char *format, ...)
{
	char text[LOG_BYTES];
	struct tracer_text view = { text, 0, 0 };
	va_list ap;
	int size;

	if (!(__atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED) &
	      __atomic_load_n(&site->mask, __ATOMIC_RELAXED)))
		return;
	va_start(ap, format);
	size = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (size < 0)
		return;
	view.size = (uint32_t)size < LOG_BYTES ? (uint32_t)size
					       : cut_text(text, LOG_BYTES, LOG_BYTES - 1);
	coati_tracer_log(site, &view, (size_t)size, __builtin_frame_address(0));
}
