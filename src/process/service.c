/* SPDX-License-Identifier: MIT */
/*
 * see service.h. A path is read from its start; the innermost container wins, because runtimes nest
 * them in units and in each other, and what runs inside of a container (a systemd of its own) is a
 * matter of the container.
 */
#include "process/service.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SHORT_ID  12 /* digits of a container's id that are shown, as its runtimes do */
#define LEAST_ID  32 /* digits that an id has at least */
#define PART_MAX  512
#define PARTS_MAX 64
#define ROOM	  (SERVICE_NAME_MAX - 16) /* of a container's name */

struct part {
	char text[PART_MAX];
	size_t len;
};

/* What was found so far: a pod counts before a container, and that before a unit. */
struct finding {
	char unit[SERVICE_NAME_MAX];
	char container[SERVICE_NAME_MAX];
	char pod[64];
};

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
	size_t len = strlen(text), tail = strlen(with);

	return len > tail && !strcmp(text + len - tail, with);
}

/* As much as there is room for. */
static void copy(char *to, size_t room, const char *text)
{
	size_t len = strnlen(text, room - 1);

	memcpy(to, text, len);
	to[len] = '\0';
}

static void cut(char *text, const char *tail)
{
	if (ends(text, tail))
		text[strlen(text) - strlen(tail)] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* systemd writes bytes that a unit's name cannot have as \x2d. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] == 'x' && hex_digit(p[2]) >= 0 && hex_digit(p[3]) >= 0) {
			char c = (char)(hex_digit(p[2]) << 4 | hex_digit(p[3]));

			*to++ = isprint((unsigned char)c) ? c : '?';
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* Digits of an id at the end of @text, behind a dash or at its start; NULL: none. */
static const char *find_id(const char *text)
{
	size_t len = strlen(text), nr = 0;

	while (nr < len && hex_digit(text[len - 1 - nr]) >= 0)
		nr++;
	if (nr < LEAST_ID || (nr < len && text[len - 1 - nr] != '-'))
		return NULL;
	return text + len - nr;
}

static void name_container(struct finding *f, const char *name, size_t len)
{
	static const char prefix[] = "container:";
	char *to = f->container + sizeof(prefix) - 1;

	memcpy(f->container, prefix, sizeof(prefix));
	copy(to, len < ROOM ? len + 1 : ROOM, name);
}

/* docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope, a bare ID. */
static bool take_container(struct finding *f, const char *part)
{
	char text[PART_MAX];
	const char *id;

	copy(text, sizeof(text), part);
	cut(text, ".scope");
	if (starts(text, "crio-conmon-") || starts(text, "libpod-conmon-"))
		return false; /* who looks after it, on the machine's side */
	id = find_id(text);
	if (!id)
		return false;
	name_container(f, id, SHORT_ID);
	return true;
}

/* lxc.payload.NAME, lxc/NAME, machine-NAME.scope and NAME.service of machine.slice. */
static bool take_machine(struct finding *f, const char *part, const char *before)
{
	char text[PART_MAX];

	if (starts(part, "lxc.payload.")) {
		name_container(f, part + strlen("lxc.payload."), PART_MAX);
		return true;
	}
	if (before && !strcmp(before, "lxc")) {
		name_container(f, part, PART_MAX);
		return true;
	}
	if (!starts(part, "machine-") || !ends(part, ".scope"))
		return false;
	copy(text, sizeof(text), part + strlen("machine-"));
	cut(text, ".scope");
	unescape(text);
	name_container(f, text, sizeof(text));
	return true;
}

/* pod1234-..., kubepods-burstable-pod1234_....slice: its uid. */
static bool take_pod(struct finding *f, const char *part)
{
	const char *uid = starts(part, "pod") ? part + 3 : NULL;
	size_t len;

	if (!uid && starts(part, "kubepods")) {
		uid = strstr(part, "-pod");
		uid = uid ? uid + 4 : NULL;
	}
	len = uid ? strcspn(uid, ".") : 0;
	if (len < LEAST_ID || len >= sizeof(f->pod))
		return false;
	memcpy(f->pod, uid, len);
	f->pod[len] = '\0';
	for (size_t i = 0; i < len; i++)
		f->pod[i] = f->pod[i] == '_' ? '-' : f->pod[i];
	f->container[0] = f->unit[0] = '\0';
	return true;
}

/* app-gnome-firefox-1234.scope: what stands before the number. */
static void cut_number(char *text)
{
	char *dash = strrchr(text, '-');

	if (dash && dash > text && dash[1] && strspn(dash + 1, "0123456789") == strlen(dash + 1))
		*dash = '\0';
}

static void take_unit(struct finding *f, const char *part)
{
	char text[PART_MAX];

	if (!ends(part, ".service") && !ends(part, ".scope") && !ends(part, ".socket") &&
	    !ends(part, ".mount") && !ends(part, ".swap"))
		return;
	copy(text, sizeof(text), part);
	cut(text, ".service");
	if (starts(text, "app-") && ends(text, ".scope")) {
		cut(text, ".scope");
		cut_number(text);
	}
	unescape(text);
	copy(f->unit, sizeof(f->unit), text);
}

static void take_part(struct finding *f, const char *part, const char *before)
{
	bool is_inside = f->container[0] != '\0';

	if (take_pod(f, part) || take_container(f, part) || take_machine(f, part, before))
		return;
	if (!is_inside)
		take_unit(f, part);
}

static void walk(const char *path, struct finding *f)
{
	struct part parts[2] = { 0 };
	unsigned int nr = 0;

	while (*path && nr < PARTS_MAX) {
		size_t len = strcspn(path, "/");
		struct part *now = &parts[nr & 1], *before = nr ? &parts[!(nr & 1)] : NULL;

		if (len) {
			now->len = len < PART_MAX ? len : PART_MAX - 1;
			memcpy(now->text, path, now->len);
			now->text[now->len] = '\0';
			take_part(f, now->text, before ? before->text : NULL);
			nr++;
		}
		path += len + (path[len] == '/');
	}
}

static void set(struct service *ret, enum service_kind kind, const char *a, const char *b)
{
	ret->kind = kind;
	snprintf(ret->name, sizeof(ret->name), "%s%s", a, b);
	for (char *p = ret->name; *p; p++)
		*p = iscntrl((unsigned char)*p) ? '?' : *p;
}

void coati_service_of(const char *cgroup, const char *program, struct service *ret)
{
	struct finding f = { 0 };
	char pod[80];

	if (cgroup && *cgroup == '/')
		walk(cgroup, &f);
	if (f.pod[0]) {
		snprintf(pod, sizeof(pod), "pod:%s", f.pod);
		if (f.container[0])
			f.container[strlen("container")] = '/';
		set(ret, SERVICE_POD, pod, f.container[0] ? f.container + strlen("container") : "");
	} else if (f.container[0]) {
		set(ret, SERVICE_CONTAINER, f.container, "");
	} else if (f.unit[0]) {
		set(ret, SERVICE_UNIT, f.unit, "");
	} else {
		set(ret, SERVICE_PROGRAM, program && *program ? program : "unknown", "");
	}
}
