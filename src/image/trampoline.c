/* SPDX-License-Identifier: MIT */
/* see trampoline.h */
#include "image/trampoline.h"

#include <elf.h>
#include <string.h>

struct form {
	uint16_t machine;
	uint8_t bytes[9];
	uint8_t size;
	uint8_t second; /* offset of the last instruction */
};

/* mov $15, %rax (in two ways) and syscall; mov x8, #139 and svc #0. */
static const struct form forms[] = {
	{ EM_X86_64, { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 }, 9, 7 },
	{ EM_X86_64, { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 }, 7, 5 },
	{ EM_AARCH64, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 }, 8, 4 },
};

static bool is_at(struct copy *file, const struct form *f, uint64_t vaddr)
{
	const uint8_t *bytes;
	uint64_t offset;

	if (coati_elf_vaddr_to_offset(&file->elf, vaddr, &offset) < 0)
		return false;
	bytes = coati_copy_bytes(file, offset, f->size);
	return bytes && !memcmp(bytes, f->bytes, f->size);
}

bool coati_trampoline_find(struct copy *file, uint64_t vaddr, uint64_t *ret_start,
			   uint64_t *ret_size)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		const struct form *f = &forms[i];
		const uint64_t starts[] = { vaddr + 1, vaddr, vaddr - f->second };

		if (f->machine != file->elf.machine)
			continue;
		for (size_t k = 0; k < sizeof(starts) / sizeof(*starts); k++) {
			if (!is_at(file, f, starts[k]))
				continue;
			*ret_start = starts[k];
			*ret_size = f->size;
			return true;
		}
	}
	return false;
}
