/* SPDX-License-Identifier: MIT */
/* Services by the paths of cgroups, as runtimes really write them, and rules about them. */
#include "lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <coati/error.h>

#include "process/service.h"

#define ID    "4f9a1c2b3d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f8"
#define SHORT "4f9a1c2b3d5e"
#define UID   "8f5b1c2d-1a2b-4c3d-9e8f-0123456789ab"
#define UID_  "8f5b1c2d_1a2b_4c3d_9e8f_0123456789ab"

static const struct {
	const char *cgroup;
	enum service_kind kind;
	const char *name;
} rows[] = {
	/* nothing that says more than the program */
	{ NULL, SERVICE_PROGRAM, "app" },
	{ "", SERVICE_PROGRAM, "app" },
	{ "/", SERVICE_PROGRAM, "app" },
	{ "4711", SERVICE_PROGRAM, "app" },
	{ "/user.slice", SERVICE_PROGRAM, "app" },
	{ "/some/folder", SERVICE_PROGRAM, "app" },
	/* systemd, versions 1 and 2 */
	{ "/init.scope", SERVICE_UNIT, "init.scope" },
	{ "/system.slice/nginx.service", SERVICE_UNIT, "nginx" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", SERVICE_UNIT, "getty@tty1" },
	{ "/system.slice/ssh.service/session", SERVICE_UNIT, "ssh" },
	{ "/system.slice/systemd-udevd.service/udev", SERVICE_UNIT, "systemd-udevd" },
	{ "/system.slice/dbus.socket", SERVICE_UNIT, "dbus.socket" },
	{ "/system.slice/dev-disk-by\\x2dlabel-swap.swap", SERVICE_UNIT,
	  "dev-disk-by-label-swap.swap" },
	{ "/user.slice/user-1000.slice/session-2.scope", SERVICE_UNIT, "session-2.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/init.scope", SERVICE_UNIT, "init.scope" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4242.scope",
	  SERVICE_UNIT, "app-gnome-firefox" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/pipewire.service", SERVICE_UNIT,
	  "pipewire" },
	/* docker: cgroupfs and systemd drivers */
	{ "/docker/" ID, SERVICE_CONTAINER, "container:" SHORT },
	{ "/system.slice/docker-" ID ".scope", SERVICE_CONTAINER, "container:" SHORT },
	{ "/system.slice/docker.service", SERVICE_UNIT, "docker" },
	{ "/docker/" ID "/system.slice/nginx.service", SERVICE_CONTAINER, "container:" SHORT },
	/* containerd, cri-o, podman */
	{ "/system.slice/containerd.service", SERVICE_UNIT, "containerd" },
	{ "/default/" ID, SERVICE_CONTAINER, "container:" SHORT },
	{ "/machine.slice/libpod-" ID ".scope", SERVICE_CONTAINER, "container:" SHORT },
	{ "/machine.slice/libpod-" ID ".scope/container", SERVICE_CONTAINER, "container:" SHORT },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	  SERVICE_CONTAINER, "container:" SHORT },
	{ "/machine.slice/libpod-conmon-" ID ".scope", SERVICE_UNIT, "libpod-conmon-" ID ".scope" },
	/* Kubernetes: both drivers, all classes */
	{ "/kubepods/burstable/pod" UID "/" ID, SERVICE_POD, "pod:" UID "/" SHORT },
	{ "/kubepods/besteffort/pod" UID "/" ID, SERVICE_POD, "pod:" UID "/" SHORT },
	{ "/kubepods/pod" UID "/" ID, SERVICE_POD, "pod:" UID "/" SHORT },
	{ "/kubepods/pod" UID, SERVICE_POD, "pod:" UID },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  SERVICE_POD, "pod:" UID "/" SHORT },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", SERVICE_POD,
	  "pod:" UID "/" SHORT },
	{ "/kubelet.slice/kubelet-kubepods.slice", SERVICE_PROGRAM, "app" },
	/* Kubernetes in docker */
	{ "/docker/" ID "/kubelet/kubepods/burstable/pod" UID "/" ID, SERVICE_POD,
	  "pod:" UID "/" SHORT },
	/* others */
	{ "/lxc/web1", SERVICE_CONTAINER, "container:web1" },
	{ "/lxc.payload.web1/system.slice/nginx.service", SERVICE_CONTAINER, "container:web1" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", SERVICE_CONTAINER,
	  "container:qemu-1-vm" },
	{ "/ecs/0123456789abcdef0123456789abcdef/" ID, SERVICE_CONTAINER, "container:" SHORT },
};

TEST(services_follow_from_the_paths_of_cgroups)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct service s;

		coati_service_of(rows[i].cgroup, "app", &s);
		CHECK_STR(s.name, rows[i].name);
		CHECK_INT((int)s.kind, ==, (int)rows[i].kind);
	}
}

TEST(services_of_hostile_paths_are_cut_and_printable)
{
	char path[20000];
	struct service s;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	snprintf(path + sizeof(path) - 9, 9, ".service");
	coati_service_of(path, "app", &s);
	CHECK_U64(strlen(s.name), <, SERVICE_NAME_MAX);
	coati_service_of("/system.slice/a\\x1b[0m.service", "app", &s);
	CHECK_STR(s.name, "a?[0m");
	coati_service_of("/system.slice/a\033b.service", "app", &s);
	CHECK_STR(s.name, "a?b");
	coati_service_of(NULL, NULL, &s);
	CHECK_STR(s.name, "unknown");
}

TEST(service_rules_rename_and_drop_by_name_and_cgroup)
{
	struct service_rules r;
	struct service s;

	coati_service_rules_init(&r);
	CHECK_INT(coati_service_rules_add(&r, "rename nginx* web", NULL), ==, 0);
	CHECK_INT(coati_service_rules_add(&r, "drop /user.slice/*", NULL), ==, 0);
	CHECK_INT(coati_service_rules_add(&r, "drop web", NULL), ==, 0);
	CHECK(coati_service_rules_has(&r, "drop web"));
	CHECK(!coati_service_rules_has(&r, "drop nginx"));
	coati_service_of("/system.slice/nginx-1.service", "nginx", &s);
	CHECK(coati_service_rules_apply(&r, "/system.slice/nginx-1.service", &s));
	CHECK_STR(s.name, "web"); /* the first rule that matches counts */
	coati_service_of("/user.slice/a.service", "a", &s);
	CHECK(!coati_service_rules_apply(&r, "/user.slice/a.service", &s));
	coati_service_of("/system.slice/ssh.service", "sshd", &s);
	CHECK(coati_service_rules_apply(&r, "/system.slice/ssh.service", &s));
	CHECK_STR(s.name, "ssh");
	coati_service_rules_fini(&r);
}

TEST(service_rules_that_make_no_sense_are_refused)
{
	static const char *const wrong[] = { "",	 "drop",     "rename a",   "rename a b c",
					     "forget a", "drop a b", "renamed a b" };
	struct service_rules r;
	struct coati_error err;

	coati_service_rules_init(&r);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_ERR(coati_service_rules_add(&r, wrong[i], &err), -EINVAL);
	CHECK_U64(r.v.len, ==, 0);
	coati_service_rules_fini(&r);
}
