/* SPDX-License-Identifier: MIT */
/* coati --version: what this build has, and which libraries it finds on this machine. */
#pragma once

int coati_show_version(void);
