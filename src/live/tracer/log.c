/* SPDX-License-Identifier: MIT */
/* Logs that have to be formatted: ordinary code, as printf() is. */
#include <stdarg.h>
#include <stdio.h>

#include "live/tracer/tracer.h"

#define LOG_BYTES 1024

void coati_log(struct coati_site *site, const char *format, ...)
{
	char text[LOG_BYTES];
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
	coati_tracer_log(site, text, (size_t)size < LOG_BYTES ? (size_t)size : LOG_BYTES - 1,
			 (size_t)size);
}
