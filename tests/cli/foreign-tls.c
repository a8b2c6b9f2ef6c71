/* SPDX-License-Identifier: MIT */
/* The variable that foreign.c publishes labels in: part of the program, or of a library. */
#define PUBLIC __attribute__((visibility("default")))

extern PUBLIC __thread const void *otel_thread_ctx_v1;
__thread const void *otel_thread_ctx_v1;

PUBLIC const void **foreign_context(void);
const void **foreign_context(void)
{
	return &otel_thread_ctx_v1;
}
