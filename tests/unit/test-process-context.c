/* SPDX-License-Identifier: MIT */
/* The names of the keys of labels, out of what a process publishes about itself: those of our own
 * library, and whatever a process claims. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/live.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proto.h"
#include "process/context.h"
#include "process/proc.h"

static struct coati_label_key first = COATI_LABEL_KEY("context-first");
static struct coati_label_key second = COATI_LABEL_KEY("context-second");

/* Where it is in this process, as its maps file says. */
static uint64_t find_own(void)
{
	struct strbuf maps = STRBUF_INIT(1 << 20);
	uint64_t found = 0;
	char *rest, *line;

	CHECK_OK(coati_file_read(AT_FDCWD, "/proc/self/maps", &maps));
	rest = maps.text;
	while ((line = strsep(&rest, "\n"))) {
		struct coati_mmap m;

		if (coati_maps_line(line, &m) == 0 && coati_context_is_mapping(&m))
			found = m.addr;
	}
	coati_strbuf_fini(&maps);
	return found;
}

TEST(process_context_of_our_library_has_the_names_of_all_keys)
{
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct context_keys keys;
	uint64_t before, at, start = now_ns();

	CHECK_INT(mem, >=, 0);
	CHECK_OK(coati_label_set(&first, "1"));
	at = find_own();
	CHECK(at);
	CHECK_OK(coati_context_read_keys(mem, at, &keys));
	CHECK_U64(keys.nr, >=, 1);
	CHECK_STR(keys.names[keys.nr - 1], "context-first");
	before = keys.time;
	coati_context_keys_fini(&keys);
	CHECK_OK(coati_label_set(&second, "2"));
	CHECK_OK(coati_context_read_keys(mem, at, &keys));
	CHECK_STR(keys.names[keys.nr - 1], "context-second");
	CHECK_STR(keys.names[keys.nr - 2], "context-first");
	CHECK_U64(keys.time, >, before);
	/* by when they were published, before they were looked for */
	CHECK_U64(keys.known_ns, >=, start);
	CHECK_U64(keys.known_ns, <=, keys.begun_ns);
	coati_context_keys_fini(&keys);
	CHECK_ERR(coati_context_read_keys(mem, at + 8, &keys), -EBADMSG);
	CHECK_ERR(coati_context_read_keys(mem, 16, &keys), -EBADMSG);
	close(mem);
}

/* ---- messages ---- */

static void put_text(struct proto *p, uint32_t field, const char *text)
{
	coati_proto_bytes(p, field, text, strlen(text));
}

static void put_schema(struct proto *p, const char *schema)
{
	size_t pair = coati_proto_begin(p, 2), value;

	put_text(p, 1, "threadlocal.schema_version");
	value = coati_proto_begin(p, 2);
	put_text(p, 1, schema);
	coati_proto_end(p, value);
	coati_proto_end(p, pair);
}

/* @nr keys that are called 0, 1, 2, ... */
static void put_keys(struct proto *p, uint32_t nr)
{
	size_t pair = coati_proto_begin(p, 2), value, array, item;
	char text[16];

	put_text(p, 1, "threadlocal.attribute_key_map");
	value = coati_proto_begin(p, 2);
	array = coati_proto_begin(p, 5);
	for (uint32_t i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "%u", i);
		item = coati_proto_begin(p, 1);
		put_text(p, 1, text);
		coati_proto_end(p, item);
	}
	coati_proto_end(p, array);
	coati_proto_end(p, value);
	coati_proto_end(p, pair);
}

static int parse(const struct strbuf *s, struct context_keys *ret)
{
	return coati_context_parse_keys((const uint8_t *)s->text, s->len, ret);
}

TEST(process_context_of_others_is_read_as_far_as_an_index_goes)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct proto p = proto_to(&s);
	struct context_keys keys;

	put_text(&p, 1, "a resource, which is of no interest");
	put_keys(&p, 300);
	put_schema(&p, "tlsdesc_v1");
	CHECK_OK(parse(&s, &keys));
	CHECK_U64(keys.nr, ==, 256);
	CHECK_STR(keys.names[0], "0");
	CHECK_STR(keys.names[255], "255");
	coati_context_keys_fini(&keys);
	coati_strbuf_fini(&s);
}

TEST(process_context_with_another_layout_of_labels_is_refused)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct proto p = proto_to(&s);
	struct context_keys keys;

	put_keys(&p, 2);
	CHECK_ERR(parse(&s, &keys), -EBADMSG); /* it does not say which */
	put_schema(&p, "nodejs_v1");
	CHECK_ERR(parse(&s, &keys), -EBADMSG);
	put_schema(&p, "tlsdesc_v1_dev");
	CHECK_OK(parse(&s, &keys));
	CHECK_U64(keys.nr, ==, 2);
	coati_context_keys_fini(&keys);
	coati_strbuf_fini(&s);
}

/* A key that is no name takes its place: the others keep their numbers. */
TEST(process_context_keeps_the_places_of_keys_that_are_no_names)
{
	static const uint8_t keys_bytes[] = {
		/* the key of the map, and an array of "", no text, "a\0b", "x" */
		0x12, 0x37, 0x0a, 0x1d, 't',  'h',  'r',  'e',	'a',  'd',  'l',  'o',
		'c',  'a',  'l',  '.',	'a',  't',  't',  'r',	'i',  'b',  'u',  't',
		'e',  '_',  'k',  'e',	'y',  '_',  'm',  'a',	'p',  0x12, 0x16, 0x2a,
		0x14, 0x0a, 0x02, 0x0a, 0x00, 0x0a, 0x02, 0x18, 0x05, 0x0a, 0x05, 0x0a,
		0x03, 'a',  0x00, 'b',	0x0a, 0x03, 0x0a, 0x01, 'x',
	};
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct proto p = proto_to(&s);
	struct context_keys keys;

	coati_strbuf_add(&s, keys_bytes, sizeof(keys_bytes));
	put_schema(&p, "tlsdesc_v1_dev");
	CHECK_OK(parse(&s, &keys));
	CHECK_U64(keys.nr, ==, 4);
	for (int i = 0; i < 3; i++)
		CHECK_STR(keys.names[i], "");
	CHECK_STR(keys.names[3], "x");
	coati_context_keys_fini(&keys);
	coati_strbuf_fini(&s);
}

TEST(process_context_that_is_damaged_is_refused_or_has_fewer_keys)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct proto p = proto_to(&s);
	struct context_keys keys;
	size_t size;

	put_schema(&p, "tlsdesc_v1_dev");
	put_keys(&p, 20);
	size = s.len;
	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *copy = malloc(cut + 1); /* so that a read behind it is seen */

		memcpy(copy, s.text, cut);
		if (coati_context_parse_keys(copy, cut, &keys) == 0) {
			CHECK_U64(keys.nr, ==, 0);
			coati_context_keys_fini(&keys);
		}
		free(copy);
	}
	for (size_t at = 0; at < size; at++) {
		uint8_t *copy = malloc(size);

		memcpy(copy, s.text, size);
		copy[at] ^= 0xff;
		if (coati_context_parse_keys(copy, size, &keys) == 0) {
			CHECK_U64(keys.nr, <=, 256);
			coati_context_keys_fini(&keys);
		}
		free(copy);
	}
	coati_strbuf_fini(&s);
}
