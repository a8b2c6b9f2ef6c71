/* SPDX-License-Identifier: MIT */
/*
 * Calls that have a better one in base/: using them does not compile. Included in front of every
 * source file by the build, after the headers that declare them. Numbers are read by base/parse.h;
 * it uses strtod_l(), which does not follow the locale of the program.
 */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED_(name) use_of_banned_function_##name

#undef strcpy
#define strcpy(...) BANNED_(strcpy)
#undef strncpy
#define strncpy(...) BANNED_(strncpy)
#undef strcat
#define strcat(...) BANNED_(strcat)
#undef strncat
#define strncat(...) BANNED_(strncat)
#undef strtok
#define strtok(...) BANNED_(strtok)
#undef sprintf
#define sprintf(...) BANNED_(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED_(vsprintf)
#undef sscanf
#define sscanf(...) BANNED_(sscanf)
#undef atoi
#define atoi(...) BANNED_(atoi)
#undef atol
#define atol(...) BANNED_(atol)
#undef strtol
#define strtol(...) BANNED_(strtol)
#undef strtoul
#define strtoul(...) BANNED_(strtoul)
#undef strtoull
#define strtoull(...) BANNED_(strtoull)
#undef strtod
#define strtod(...) BANNED_(strtod)
#undef gmtime
#define gmtime(...) BANNED_(gmtime)
#undef localtime
#define localtime(...) BANNED_(localtime)
#undef ctime
#define ctime(...) BANNED_(ctime)
#undef signal
#define signal(...) BANNED_(signal)
