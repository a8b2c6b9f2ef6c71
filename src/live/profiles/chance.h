/* SPDX-License-Identifier: MIT */
/* Chance for samplers: numbers that follow from a seed, and the two functions of the exponential
 * distribution, without libm. */
#pragma once

#include <stdint.h>

struct chance {
	uint64_t state;
};

/* Another sequence for each @nr of the same @seed. */
void coati_chance_seed(struct chance *c, uint64_t seed, uint64_t nr);
uint64_t coati_chance_next(struct chance *c);
/* A draw from the exponential distribution: the distance to the next event of which there is one in
 * @mean on average. */
double coati_chance_distance(struct chance *c, double mean);
/* 1 - exp(-@x), for x >= 0: the probability that such an event comes within x times the mean. */
double coati_chance_within(double x);
/* Something that is not the same in the next process. */
uint64_t coati_chance_any(void);
