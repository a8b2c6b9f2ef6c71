/* SPDX-License-Identifier: MIT */
/*
 * CPU time for the programs of the cases. The runner lets every compiler find this file.
 *
 * A loop over a volatile counter takes five cycles a step on one CPU and less than one on another,
 * which keeps what was just stored in a register. SPIN(n) is n multiplications, each of which needs
 * the result of the one before: four or five cycles a step everywhere, 80,000,000 in about 0.1 s.
 */
#pragma once

#define SPIN(n)                                                          \
	do {                                                             \
		unsigned long spin_x_ = 1;                               \
		for (long spin_i_ = 0; spin_i_ < (long)(n); spin_i_++) { \
			spin_x_ = spin_x_ * 6364136223846793005u + 1;    \
			__asm__ volatile("" : "+r"(spin_x_));            \
		}                                                        \
	} while (0)
