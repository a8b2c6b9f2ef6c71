/* SPDX-License-Identifier: MIT */
/* Programs that run with the rights of others, which ordinary users cannot watch. */
#pragma once

/* Say that the kernel ends the events of this user when @command starts, if that is so. */
void coati_warn_rights(const char *command);
