/* SPDX-License-Identifier: MIT */
/*
 * Loaded objects come in through dl_iterate_phdr(), an array with tables goes out. The loader's lock is held while it calls us, and whoever allocates may wait for that lock
 * elsewhere: inside its calls nothing is allocated, and unwind data is only copied, so that it can be worked on when the lock is free again and the object
 * perhaps gone.
 */
#include "live/sampler/objects.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/map.h"
#include "live/sampler/sampler.h"
#include "unwind/table/build.h"

#define OBJECTS_MAX	16384u
#define CODE_MAX	4u		      /* executable segments of one object */
#define FRAME_BYTES_MAX ((uint64_t)512 << 20) /* of unwind data of one object */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

/* An object as the loader shows it. Addresses in the file's own terms. */
struct shown {
	uint64_t bias, id; /* id: a hash of the index of its unwind data */
	uint64_t frame, frame_end;
	uint64_t code[CODE_MAX], code_end[CODE_MAX];
	uint32_t nr_code, reserved; /* no gaps: compared as bytes */
};

/* And what we have of it. */
struct known {
	struct shown shown;
	struct table table;
	void *bytes; /* of the table; NULL: none */
	uint64_t size;
	uint32_t serial;
	bool is_over; /* there was no memory for it */
	bool is_there;
};

static struct {
	struct known **list;
	uint32_t len, cap, last_serial;
	uint64_t bytes;
	uint64_t adds, subs; /* of the loader when we last looked */
	uint64_t max_bytes;
	bool has_looked;
	_Atomic bool is_busy;
	bool is_shut;	 /* the loader must not be asked */
	bool is_crowded; /* there were threads at the last fork that may have been in the loader */
} all;

/* 1: one of us is in the loader, or a fork is under way. */
static _Atomic uint32_t gate;

static void take_gate(void)
{
	/* pairs with: release in give_gate() */
	while (atomic_exchange_explicit(&gate, 1, memory_order_acquire))
		sched_yield();
}

static void give_gate(void)
{
	/* pairs with: acquire in take_gate() */
	atomic_store_explicit(&gate, 0, memory_order_release);
}

/* glibc's, 2.32: false once there was another thread, also in the child of a fork. */
extern char __libc_single_threaded __attribute__((weak));
static pid_t born; /* the process that loaded us */

__attribute__((constructor)) static void know_process(void)
{
	born = getpid();
}

/* The child of a fork before which nobody here was asked, and where there may have been other threads. */
static bool is_orphan(void)
{
	return getpid() != born && &__libc_single_threaded && !__libc_single_threaded;
}

static void ask_loader(int (*fn)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
	take_gate();
	dl_iterate_phdr(fn, ctx);
	give_gate();
}

/* ---- what the loader shows ---- */

struct listing {
	struct shown *list;
	uint32_t len, cap, seen;
	uint64_t adds, subs;
};

/* The segment of the file that holds @vaddr; NULL: none that can be read. */
static const ElfW(Phdr) * segment_at(const struct dl_phdr_info *info, uint64_t vaddr)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_R && vaddr - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

/* The index begins with version 1, three encodings, and the pointer to .eh_frame, which ends at the latest where its segment does. */
static void show_frame(const struct dl_phdr_info *info, const ElfW(Phdr) * hdr, struct shown *ret)
{
	const ElfW(Phdr) *load = segment_at(info, hdr->p_vaddr);
	struct cfi_section s = { .vaddr = hdr->p_vaddr, .data = hdr->p_vaddr };
	struct cursor c;
	uint8_t encoding;

	if (!load || hdr->p_memsz > load->p_filesz - (hdr->p_vaddr - load->p_vaddr))
		return;
	s.bytes = (const uint8_t *)(uintptr_t)(info->dlpi_addr + hdr->p_vaddr); /* NOLINT */
	s.size = hdr->p_memsz;
	c = cursor_over(s.bytes, s.size);
	if (cursor_u8(&c) != 1)
		return;
	encoding = cursor_u8(&c);
	cursor_skip(&c, 2);
	ret->frame = coati_cfi_pointer(&c, &s, encoding & 0x7f);
	load = c.bad ? NULL : segment_at(info, ret->frame);
	ret->frame_end = load ? load->p_vaddr + load->p_filesz : ret->frame;
	ret->id = coati_hash_bytes(s.bytes, s.size, info->dlpi_addr);
}

static struct shown show(const struct dl_phdr_info *info)
{
	struct shown s = { .bias = info->dlpi_addr };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_EH_FRAME)
			show_frame(info, p, &s);
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || s.nr_code == CODE_MAX)
			continue;
		s.code[s.nr_code] = p->p_vaddr;
		s.code_end[s.nr_code++] = p->p_vaddr + p->p_memsz;
	}
	return s;
}

static int list_one(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct listing *l = ctx;

	(void)size;
	l->adds = info->dlpi_adds;
	l->subs = info->dlpi_subs;
	l->seen++;
	if (l->len < l->cap)
		l->list[l->len++] = show(info);
	return !l->cap && l->seen > OBJECTS_MAX;
}

/* Only the counters, which are the same in every call. */
static int count_changes(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct listing *l = ctx;

	(void)size;
	l->adds = info->dlpi_adds;
	l->subs = info->dlpi_subs;
	return 1;
}

static int list_all(struct listing *l)
{
	do {
		coati_free(l->list);
		*l = (struct listing){ .cap = 0 };
		ask_loader(list_one, l);
		l->cap = l->seen + 8;
		l->seen = l->len = 0;
		l->list = coati_alloc_array(l->cap, sizeof(*l->list));
		if (!l->list)
			return -ENOMEM;
		ask_loader(list_one, l);
	} while (l->seen > l->cap && l->cap < OBJECTS_MAX);
	return 0;
}

/* ---- tables ---- */

struct copying {
	const struct shown *wanted;
	uint8_t *bytes;
	bool is_done;
};

static int copy_frame(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct copying *c = ctx;
	struct shown s;

	(void)size;
	if (info->dlpi_addr != c->wanted->bias)
		return 0;
	s = show(info);
	if (memcmp(&s, c->wanted, sizeof(s)) != 0)
		return 0;
	memcpy(c->bytes, (const void *)(uintptr_t)(s.bias + s.frame), s.frame_end - s.frame);
	c->is_done = true;
	return 1;
}

/* 0, -ENODATA: there is none, or it was unloaded meanwhile. */
static int copy_sections(const struct shown *s, uint8_t **ret)
{
	struct copying c = { .wanted = s };

	if (s->frame_end <= s->frame || s->frame_end - s->frame > FRAME_BYTES_MAX || !s->nr_code)
		return -ENODATA;
	c.bytes = coati_alloc(s->frame_end - s->frame);
	if (!c.bytes)
		return -ENOMEM;
	ask_loader(copy_frame, &c);
	if (!c.is_done) {
		coati_free(c.bytes);
		return -ENODATA;
	}
	*ret = c.bytes;
	return 0;
}

static int build_table(struct known *k, const uint8_t *frame)
{
	const struct shown *s = &k->shown;
	struct table_input in = { .machine = MACHINE, .nr_code = s->nr_code, .nr_sections = 1 };
	uint64_t entry = getauxval(AT_ENTRY) - s->bias;
	size_t size;
	int r;

	in.sections[0] = (struct cfi_section){ .bytes = frame,
					       .size = s->frame_end - s->frame,
					       .vaddr = s->frame,
					       .stops_at_end = true };
	for (uint32_t i = 0; i < s->nr_code; i++) {
		in.code[i] = (struct table_code){ .start = s->code[i],
						  .size = s->code_end[i] - s->code[i] };
		if (entry - s->code[i] < in.code[i].size)
			in.entry = entry;
	}
	r = coati_table_build(&in, &k->bytes, &size);
	if (r < 0)
		return r;
	k->size = size;
	return coati_table_open(k->bytes, size, &k->table);
}

static void drop_table(struct known *k)
{
	coati_free(k->bytes);
	k->bytes = NULL;
	k->size = 0;
}

static void make_table(struct known *k)
{
	uint8_t *frame = NULL;
	int r = copy_sections(&k->shown, &frame);

	if (r == 0)
		r = build_table(k, frame);
	coati_free(frame);
	k->is_over = r == -ENOMEM;
	if (r == 0 && (all.bytes > all.max_bytes || k->size > all.max_bytes - all.bytes)) {
		k->is_over = true;
		r = -E2BIG;
	}
	if (r < 0) {
		drop_table(k);
		return;
	}
	all.bytes += k->size;
	k->serial = ++all.last_serial;
}

/* ---- all of them ---- */

static struct known *find_known(const struct shown *s)
{
	for (uint32_t i = 0; i < all.len; i++)
		if (all.list[i]->shown.id == s->id && all.list[i]->shown.bias == s->bias &&
		    !memcmp(&all.list[i]->shown, s, sizeof(*s)))
			return all.list[i];
	return NULL;
}

static struct known *add_known(const struct shown *s)
{
	struct known *k;

	if (all.len == all.cap) {
		uint32_t cap = all.cap ? 2 * all.cap : 64;
		void *grown = coati_realloc_array(all.list, cap, sizeof(*all.list));

		if (!grown)
			return NULL;
		all.list = grown;
		all.cap = cap;
	}
	k = coati_alloc(sizeof(*k));
	if (!k)
		return NULL;
	k->shown = *s;
	all.list[all.len++] = k;
	return k;
}

static int by_start(const void *a, const void *b)
{
	const struct sampler_object *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static struct sampler_objects *make_array(void)
{
	struct sampler_objects *o;
	size_t len = 0;

	for (uint32_t i = 0; i < all.len; i++)
		len += all.list[i]->is_there ? all.list[i]->shown.nr_code : 0;
	o = coati_alloc(sizeof(*o) + len * sizeof(o->list[0]));
	for (uint32_t i = 0; o && i < all.len; i++) {
		const struct known *k = all.list[i];

		for (uint32_t c = 0; k->is_there && c < k->shown.nr_code; c++)
			o->list[o->len++] =
				(struct sampler_object){ .start = k->shown.bias + k->shown.code[c],
							 .end = k->shown.bias +
								k->shown.code_end[c],
							 .bias = k->shown.bias,
							 .table = k->bytes ? &k->table : NULL,
							 .serial = k->serial };
	}
	if (o)
		qsort(o->list, o->len, sizeof(o->list[0]), by_start);
	return o;
}

/* A handler looks at the array while it has a slot. Who takes one after it was seen free has the new array: all four accesses are sequentially consistent. */
static void wait_for_handlers(void)
{
	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		while (atomic_load(&coati_sampler_shared.slots[i].taken))
			sched_yield();
}

static void forget_gone(void)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < all.len; i++) {
		struct known *k = all.list[i];

		if (k->is_there) {
			all.list[len++] = k;
			continue;
		}
		all.bytes -= k->size;
		drop_table(k);
		coati_free(k);
	}
	all.len = len;
}

static int publish(void)
{
	struct sampler_objects *o = make_array(), *old;

	if (!o)
		return -ENOMEM;
	o->serial = ++all.last_serial;
	old = atomic_exchange(&coati_sampler_shared.objects, o);
	wait_for_handlers();
	coati_free(old);
	forget_gone();
	return 0;
}

static int refresh(void)
{
	struct listing l = { .cap = 0 };
	int r = list_all(&l);

	for (uint32_t i = 0; i < all.len; i++)
		all.list[i]->is_there = false;
	for (uint32_t i = 0; r == 0 && i < l.len; i++) {
		struct known *k = find_known(&l.list[i]);

		bool is_new = !k;

		if (is_new)
			k = add_known(&l.list[i]);
		if (!k) {
			r = -ENOMEM;
			break;
		}
		k->is_there = true;
		if (is_new || k->is_over)
			make_table(k);
	}
	if (r == 0)
		r = publish();
	if (r == 0) {
		all.adds = l.adds;
		all.subs = l.subs;
		all.has_looked = true;
	}
	coati_free(l.list);
	return r;
}

int coati_sampler_objects_refresh(uint64_t max_bytes)
{
	struct listing l = { .cap = 0 };
	int r;

	if (!all.has_looked && is_orphan())
		all.is_shut = true;
	if (all.is_shut)
		return 0;
	ask_loader(count_changes, &l);
	if (all.has_looked && l.adds == all.adds && l.subs == all.subs &&
	    max_bytes == all.max_bytes)
		return 0;
	all.is_busy = true;
	all.max_bytes = max_bytes;
	r = refresh();
	all.is_busy = false;
	return r < 0 ? r : 1;
}

struct sampler_objects_stats coati_sampler_objects_stats(void)
{
	struct sampler_objects_stats s = { .bytes = all.bytes, .is_shut = all.is_shut };

	for (uint32_t i = 0; i < all.len; i++) {
		const struct known *k = all.list[i];

		s.with += k->bytes != NULL;
		s.over += k->is_over;
		s.without += !k->bytes && !k->is_over && k->shown.nr_code;
	}
	return s;
}

/* Ours and the one that forks are no danger: the gate sees to it. */
void coati_sampler_objects_hold(bool is_running)
{
	struct stat st;

	take_gate();
	/* a folder has two links, and this one one more for each thread */
	all.is_crowded = stat("/proc/self/task", &st) < 0 || st.st_nlink > 3 + (is_running ? 1 : 0);
}

void coati_sampler_objects_release(void)
{
	give_gate();
}

void coati_sampler_objects_forget(void)
{
	bool is_shut = all.is_shut || all.is_crowded;

	if (all.is_busy) {
		/* its memory stays: nobody knows what of it is whole */
		atomic_store(&coati_sampler_shared.objects, NULL);
		memset(&all, 0, sizeof(all));
	}
	all.is_shut = is_shut;
	give_gate();
}
