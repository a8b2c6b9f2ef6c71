/* SPDX-License-Identifier: MIT */
/* Found through the auxiliary vector; its own header says how long it is. The kernel made it: this
 * one is trusted. */
#include "image/vdso.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/alloc.h"
#include "base/error.h"

#define VDSO_BYTES_MAX ((size_t)64 * 1024)

int coati_vdso_copy(struct copy *ret, struct coati_error *err)
{
	const void *start = (const void *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	Elf64_Ehdr head;
	uint8_t *bytes;
	size_t size;
	int r;

	if (!start)
		return coati_fail(err, -ENOENT, "this machine has no vDSO");
	memcpy(&head, start, sizeof(head));
	size = (size_t)head.e_shoff + (size_t)head.e_shnum * sizeof(Elf64_Shdr);
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || size > VDSO_BYTES_MAX)
		return coati_fail(err, -ENOENT, "the vDSO of this machine has an unknown form");
	bytes = coati_alloc(size + 1);
	if (!bytes)
		return coati_fail(err, -ENOMEM, "out of memory");
	memcpy(bytes, start, size);
	r = coati_copy_take(ret, bytes, size, "[vdso]", err);
	if (r < 0)
		coati_free(bytes);
	return r;
}
