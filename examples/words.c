/* SPDX-License-Identifier: MIT */
/* Something to record: words are made, counted in a table and sorted. coati record -- words; coati
 * report */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 200000u
#define SLOTS (1u << 18) /* more than words, a power of two */

struct word {
	char text[16];
	unsigned int count;
};

static struct word table[SLOTS], sorted[WORDS];

static unsigned int hash(const char *s)
{
	unsigned int h = 2166136261u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

static void count_word(const char *text)
{
	unsigned int i = hash(text) % SLOTS;

	while (table[i].count && strcmp(table[i].text, text) != 0)
		i = (i + 1) % SLOTS;
	memcpy(table[i].text, text, sizeof(table[i].text));
	table[i].count++;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

int main(void)
{
	unsigned int seed = 1, nr = 0;
	char text[16] = "";

	for (unsigned int i = 0; i < 8 * WORDS; i++) {
		seed = seed * 1664525u + 1013904223u;
		snprintf(text, sizeof(text), "word-%u", (seed >> 8) % WORDS);
		count_word(text);
	}
	for (unsigned int i = 0; i < SLOTS; i++)
		if (table[i].count)
			sorted[nr++] = table[i];
	qsort(sorted, nr, sizeof(sorted[0]), by_text);
	printf("%u words, the first is %s\n", nr, sorted[0].text);
	return 0;
}
