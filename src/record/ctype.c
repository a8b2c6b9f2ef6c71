/* SPDX-License-Identifier: MIT */
/* A table of type names, and the few words of C that change them. */
#include "record/ctype.h"

#include <string.h>

struct known {
	char name[16];
	uint8_t size;
	bool is_signed;
};

static const struct known names[] = {
	{ "char", 1, true },
	{ "short", 2, true },
	{ "int", 4, true },
	{ "long", 8, true },
	{ "void", 1, false },
	{ "bool", 1, false },
	{ "_Bool", 1, false },
	{ "u8", 1, false },
	{ "u16", 2, false },
	{ "u32", 4, false },
	{ "u64", 8, false },
	{ "s8", 1, true },
	{ "s16", 2, true },
	{ "s32", 4, true },
	{ "s64", 8, true },
	{ "__u8", 1, false },
	{ "__u16", 2, false },
	{ "__u32", 4, false },
	{ "__u64", 8, false },
	{ "__s8", 1, true },
	{ "__s16", 2, true },
	{ "__s32", 4, true },
	{ "__s64", 8, true },
	{ "uint8_t", 1, false },
	{ "uint16_t", 2, false },
	{ "uint32_t", 4, false },
	{ "uint64_t", 8, false },
	{ "int8_t", 1, true },
	{ "int16_t", 2, true },
	{ "int32_t", 4, true },
	{ "int64_t", 8, true },
	{ "__be16", 2, false },
	{ "__be32", 4, false },
	{ "__be64", 8, false },
	{ "__le16", 2, false },
	{ "__le32", 4, false },
	{ "__le64", 8, false },
	{ "size_t", 8, false },
	{ "ssize_t", 8, true },
	{ "loff_t", 8, true },
	{ "off_t", 8, true },
	{ "pid_t", 4, true },
	{ "uid_t", 4, false },
	{ "gid_t", 4, false },
	{ "dev_t", 4, false },
	{ "ino_t", 8, false },
	{ "mode_t", 4, false },
	{ "umode_t", 2, false },
	{ "gfp_t", 4, false },
	{ "fmode_t", 4, false },
	{ "slab_flags_t", 4, false },
	{ "sector_t", 8, false },
	{ "blkcnt_t", 8, false },
	{ "pgoff_t", 8, false },
	{ "dma_addr_t", 8, false },
	{ "phys_addr_t", 8, false },
	{ "resource_size_t", 8, false },
	{ "ktime_t", 8, true },
	{ "time64_t", 8, true },
	{ "clockid_t", 4, true },
	{ "blk_opf_t", 4, false },
	{ "isolate_mode_t", 4, false },
	{ "key_serial_t", 4, true },
	{ "uintptr_t", 8, false },
	{ "intptr_t", 8, true },
	{ "ulong", 8, false },
	{ "uint", 4, false },
	{ "xfs_ino_t", 8, false },
	{ "xfs_agnumber_t", 4, false },
};

static bool is(const char *word, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(word, name, len) == 0;
}

bool coati_ctype_word(struct ctype *t, const char *word, size_t len)
{
	if (is(word, len, "const") || is(word, len, "volatile") || is(word, len, "__data_loc") ||
	    is(word, len, "__rel_loc"))
		return true;
	if (is(word, len, "unsigned") || is(word, len, "signed")) {
		t->size = t->size ? t->size : 4;
		t->is_signed = word[0] == 's';
		return true;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strnlen(names[i].name, sizeof(names[i].name)) != len ||
		    memcmp(names[i].name, word, len) != 0)
			continue;
		/* "unsigned" stands in front of char, short, int, long; "int" behind the last
		 * two. */
		if (t->size && t->size != 4 && is(word, len, "int"))
			return true;
		t->is_signed = t->size ? t->is_signed && names[i].is_signed : names[i].is_signed;
		t->size = names[i].size;
		return true;
	}
	return false;
}

static bool is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

struct ctype coati_ctype_element(const char *type)
{
	struct ctype t = { 0 };

	while (*type && *type != '[') {
		size_t len = 0;

		while (is_word_char(type[len]))
			len++;
		if (*type == '*')
			return (struct ctype){ .size = 8 };
		if (len && !coati_ctype_word(&t, type, len))
			return (struct ctype){ 0 };
		type += len ? len : 1;
	}
	return t;
}
