/* SPDX-License-Identifier: MIT */
/*
 * Runtimes find each other: a program may have libcoati-live linked in, as an archive or not, a
 * library of its may have another one, and libcoati-preload may be in front of them. Only one may
 * act. Each file that has one carries a note, "coati" 1, whose 8 bytes say how far from themselves
 * coati_auto_active is.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "live/auto/auto.h"

#define NOTE_TYPE 1u
#define NOTE_NAME "coati"

__asm__(".pushsection .note.coati, \"a\", %note\n"
	".balign 4\n"
	".4byte 6, 8, 1\n"
	".ascii \"coati\\0\\0\\0\"\n"
	".8byte coati_auto_active - .\n"
	".popsection\n");

/* The word of the runtime in a segment of notes, or NULL. */
static const _Atomic uint32_t *word_in(const char *at, size_t size)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) head;
		size_t name, whole;
		int64_t distance;

		memcpy(&head, at, sizeof(head));
		if (head.n_namesz > size || head.n_descsz > size)
			return NULL;
		name = (head.n_namesz + 3u) & ~(size_t)3;
		whole = sizeof(head) + name + ((head.n_descsz + 3u) & ~(size_t)3);
		if (whole > size)
			return NULL;
		if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof(NOTE_NAME) &&
		    head.n_descsz == sizeof(distance) &&
		    !memcmp(at + sizeof(head), NOTE_NAME, sizeof(NOTE_NAME))) {
			memcpy(&distance, at + sizeof(head) + name, sizeof(distance));
			return (const _Atomic uint32_t *)(const void *)(at + sizeof(head) + name +
									distance);
		}
		at += whole;
		size -= whole;
	}
	return NULL;
}

/* A file that is loaded: 1 ends the search. */
static int is_in_the_way(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const _Atomic uint32_t *word =
			p->p_type == PT_NOTE && p->p_align <= 4
				? word_in((const char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz)
				: NULL;

		if (word && word != &coati_auto_active &&
		    (coati_auto_preloaded || atomic_load_explicit(word, memory_order_relaxed)))
			return 1;
	}
	return 0;
}

bool coati_auto_is_elsewhere(void)
{
	return dl_iterate_phdr(is_in_the_way, NULL) != 0;
}
