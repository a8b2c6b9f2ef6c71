/* SPDX-License-Identifier: MIT */
/* Things in this program that probes are put on. */
#pragma once

#include <stdint.h>

/* Not inlined, not cloned, not folded: called where it says so. */
int coati_test_target(int n);
/* Calls itself until @n is 1. */
int coati_test_recursive(int n);

/* A USDT probe, coati_test:tick, and the counter that a tracer raises while it listens. */
void coati_test_tick(void);
extern volatile uint16_t coati_test_semaphore;
