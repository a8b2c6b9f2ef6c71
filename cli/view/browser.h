/* SPDX-License-Identifier: MIT */
/*
 * The browser of the person is started by a process that is made before this one is confined. All
 * that it takes from here is a byte: go.
 */
#pragma once

#include <stdbool.h>

struct browser {
	int fd; /* where the byte goes; 0: there is no such process */
};

/* Only where there is a screen and xdg-open. */
void coati_browser_prepare(struct browser *b, const char *address);
/* Open the browser, once. False: no browser will be opened. */
bool coati_browser_open(struct browser *b);
void coati_browser_end(struct browser *b);
