/* SPDX-License-Identifier: MIT */
/* make-flight FILE [PID] <TEXT: the memory that a flight recorder of the process 4242, or PID,
 * would have left. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/live-map.h"
#include "record/live-format.h"

int main(int argc, char **argv)
{
	static char text[1 << 20];
	static uint8_t map[LIVE_MAP_BYTES];
	struct coati_error err = { 0 };
	struct live_map *head = (void *)map;
	FILE *out;

	text[fread(text, 1, sizeof(text) - 1, stdin)] = 0;
	if (argc < 2 || live_map_make(text, 99, map, &err) < 0) {
		fprintf(stderr, "make-flight: %s\n", argc < 2 ? "wants a FILE" : err.text);
		return 1;
	}
	if (argc > 2)
		head->pid = (uint32_t)strtoul(argv[2], NULL, 10);
	out = fopen(argv[1], "w");
	if (!out || fwrite(map, 1, sizeof(map), out) != sizeof(map) || fclose(out))
		return 1;
	return 0;
}
