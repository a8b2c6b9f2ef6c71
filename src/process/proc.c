/* SPDX-License-Identifier: MIT */
/* Lines of maps and stat files to numbers. */
#include "process/proc.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/parse.h"

#define PF_KTHREAD    0x00200000
#define FIELD_PPID    0 /* counted from the one behind the state */
#define FIELD_FLAGS   5
#define FIELD_THREADS 16
#define NR_FIELDS     17

/* Cut the first word off *@at; "" at the end. */
static char *next_word(char **at)
{
	char *word = *at + strspn(*at, " ");

	*at = word + strcspn(word, " ");
	if (**at)
		*(*at)++ = '\0';
	return word;
}

static int parse_pair(char *text, char between, uint64_t *ret_first, uint64_t *ret_second)
{
	char *second = strchr(text, between);

	if (!second)
		return -EBADMSG;
	*second++ = '\0';
	return coati_parse_hex(text, ret_first) < 0 || coati_parse_hex(second, ret_second) < 0
		       ? -EBADMSG
		       : 0;
}

/* "55d0c8a00000-55d0c8a02000 r-xp 00002000 fe:01 1234   /usr/bin/true" */
int coati_maps_line(char *line, struct coati_mmap *ret)
{
	struct coati_mmap m = { 0 };
	uint64_t end, maj, min;
	char *perms;

	if (parse_pair(next_word(&line), '-', &m.addr, &end) < 0 || end <= m.addr)
		return -EBADMSG;
	m.len = end - m.addr;
	perms = next_word(&line);
	if (strlen(perms) != 4)
		return -EBADMSG;
	m.prot = (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u) |
		 (perms[2] == 'x' ? PROT_EXEC : 0u);
	m.flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	if (coati_parse_hex(next_word(&line), &m.pgoff) < 0)
		return -EBADMSG;
	if (parse_pair(next_word(&line), ':', &maj, &min) < 0 || maj > UINT32_MAX ||
	    min > UINT32_MAX)
		return -EBADMSG;
	m.maj = (uint32_t)maj;
	m.min = (uint32_t)min;
	if (coati_parse_u64(next_word(&line), 0, UINT64_MAX, &m.ino) < 0)
		return -EBADMSG;
	m.name = line + strspn(line, " ");
	*ret = m;
	return 0;
}

/* "12 (name) S 1 ...": the name may have blanks, brackets and line ends in it. */
int coati_proc_stat(const char *text, size_t size, struct proc_stat *ret)
{
	const char *open = memchr(text, '(', size), *close = memrchr(text, ')', size);
	struct proc_stat st = { 0 };
	uint64_t fields[NR_FIELDS] = { 0 };
	const char *at, *end = text + size;
	size_t len;

	if (!open || !close || close < open)
		return -EBADMSG;
	len = (size_t)(close - open - 1);
	if (len >= sizeof(st.comm))
		len = sizeof(st.comm) - 1;
	memcpy(st.comm, open + 1, len);
	at = close + 1;
	for (int i = -1; i < NR_FIELDS && at < end; i++) {
		char word[24] = "";

		at += strspn(at, " ");
		len = strcspn(at, " \n");
		if (len < sizeof(word))
			memcpy(word, at, len);
		/* signed ones are of no interest, and stay 0 */
		if (i >= 0)
			(void)coati_parse_u64(word, 0, UINT64_MAX, &fields[i]);
		at += len;
	}
	if (!fields[FIELD_THREADS])
		return -EBADMSG;
	st.ppid = (uint32_t)fields[FIELD_PPID];
	st.kernel = fields[FIELD_FLAGS] & PF_KTHREAD;
	st.nr_threads = (uint32_t)fields[FIELD_THREADS];
	*ret = st;
	return 0;
}
