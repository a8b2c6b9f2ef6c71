/* SPDX-License-Identifier: MIT */
/* From what a record says of a file to the very file: what is refused, and what is found although
 * it moved. */
#include "lib/test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/parse.h"
#include "image/hold.h"
#include "image/image.h"
#include "unit/elf-builder.h"
#include "unit/image-ask.h"

/* A small program with one function and a build id that begins with @id (0: none). */
static void make_program(const char *path, uint8_t id, const char *function)
{
	struct elf_symbol symbol = { .name = function,
				     .value = BUILDER_TEXT_VADDR,
				     .size = 64,
				     .type = STT_FUNC,
				     .bind = STB_GLOBAL,
				     .shndx = 1 };
	uint8_t bytes[20] = { id, 1, 2, 3 }, notes[64];
	struct writer w = writer_over(notes, sizeof(notes));
	struct elf_builder b;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	if (id) {
		elf_builder_note(&w, "GNU", NT_GNU_BUILD_ID, bytes, sizeof(bytes));
		elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, notes, w.len);
	}
	elf_builder_symbols(&b, false, &symbol, 1);
	elf_builder_write(&b, path);
}

/* The scratch folder with @name in it. */
static const char *here(const char *name)
{
	static char path[4][PATH_MAX];
	static int next;
	char cwd[PATH_MAX / 2];

	next = (next + 1) % 4;
	CHECK(getcwd(cwd, sizeof(cwd)));
	snprintf(path[next], sizeof(path[next]), "%s/%s", cwd, name);
	return path[next];
}

/* As a record of this very process would name it. */
static struct coati_image_ref foreign(const char *path)
{
	return (struct coati_image_ref){ .path = path, .pid = getpid() };
}

static void check_refused(const char *path, const char *reason)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image = ask_image(images, foreign(path));

	CHECK(ask_name(images, image, BUILDER_TEXT_VADDR).flags & COATI_NAME_SYNTHETIC);
	CHECK_HAS(ask_why(images, image), reason);
	CHECK(!ask_info(images, image).opened);
	coati_images_free(&images);
}

TEST(open_refuses_links_that_a_stranger_made)
{
	make_program("program", 0, "real");
	CHECK_OK(symlink("program", "link"));
	CHECK_OK(mkdir("folder", 0700));
	CHECK_OK(symlink("folder", "other"));
	make_program("folder/inside", 0, "real");
	check_refused(here("link"), "link");
	/* without openat2() the reason is another one */
	check_refused(here("other/inside"), test_emulated() ? "" : "link");
}

TEST(open_follows_links_that_the_caller_named)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });

	make_program("program", 0, "real");
	CHECK_OK(symlink("program", "link"));
	CHECK_STR(ask_function(images, ask_path(images, "link"), BUILDER_TEXT_VADDR), "real");
	coati_images_free(&images);
}

TEST(open_refuses_what_is_no_regular_file_without_touching_it)
{
	CHECK_OK(mkfifo("fifo", 0600));
	CHECK_OK(mkdir("folder", 0700));
	check_refused(here("fifo"), "not a regular file"); /* opening it would wait for a writer */
	check_refused(here("folder"), "not a regular file");
	check_refused("/dev/zero", "not a regular file");
}

TEST(open_refuses_a_file_of_a_hundred_gigabytes)
{
	int fd = open("huge", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	CHECK_OK(fd);
	CHECK_OK((int)write(fd, ELFMAG, SELFMAG));
	if (ftruncate(fd, (off_t)100 << 30) < 0)
		test_skip("this file system has no sparse files of that size");
	close(fd);
	check_refused(here("huge"), "100 GiB");
}

TEST(open_refuses_what_is_no_elf_file)
{
	int fd = open("text", O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	CHECK_OK((int)write(fd, "just words\n", 11));
	close(fd);
	check_refused(here("text"), "not an ELF file");
	fd = open("empty", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	close(fd);
	check_refused(here("empty"), "not an ELF file");
}

TEST(open_refuses_another_users_file_unless_its_build_id_shows_what_it_is)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref = foreign(here("known"));

	if (geteuid() != 0)
		test_skip_need("root", "only root can give a file away");
	make_program("theirs", 0, "real");
	make_program("known", 7, "real");
	CHECK_OK(chown("theirs", 12345, 12345));
	CHECK_OK(chown("known", 12345, 12345));
	check_refused(here("theirs"), "user 12345");
	ref.build_id_size = 20;
	memcpy(ref.build_id, "\x07\1\2\3", 4);
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR), "real");
	coati_images_free(&images);
}

static struct coati_image_ref recorded(const char *path, uint8_t id)
{
	struct coati_image_ref ref = { .path = path, .build_id_size = 20 };

	memcpy(ref.build_id, (uint8_t[]){ id, 1, 2, 3 }, 4);
	return ref;
}

TEST(open_does_not_take_a_file_that_was_replaced_since)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image;

	make_program("program", 9, "new");
	image = ask_image(images, recorded(here("program"), 5));
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR), "[program]");
	CHECK_HAS(ask_why(images, image), "was recorded");
	CHECK_HAS(ask_why(images, image), "replaced");
	coati_images_free(&images);
}

TEST(open_takes_a_copy_with_the_same_build_id_where_the_file_is_gone)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image, gone, other;

	make_program("program", 5, "real");
	image = ask_image(images, recorded(here("program"), 5));
	gone = ask_image(images, recorded(here("gone"), 5));
	other = ask_image(images, recorded(here("other"), 6));
	CHECK_U64(image, !=, gone);
	CHECK_STR(ask_function(images, gone, BUILDER_TEXT_VADDR), "real");
	CHECK_STR(ask_info(images, gone).name, "gone");
	CHECK_STR(ask_info(images, gone).opened, here("program"));
	CHECK_STR(ask_function(images, other, BUILDER_TEXT_VADDR), "[other]");
	coati_images_free(&images);
}

TEST(open_takes_the_debug_file_of_what_was_replaced)
{
	struct coati_images_opts opts = { .debug_dirs = here("debug") };
	struct coati_images *images = ask_new(opts);
	uint32_t image;

	make_program("program", 9, "new");
	CHECK_OK(mkdir("debug", 0700));
	CHECK_OK(mkdir("debug/.build-id", 0700));
	CHECK_OK(mkdir("debug/.build-id/05", 0700));
	make_program("debug/.build-id/05/01020300000000000000000000000000000000.debug", 5, "old");
	image = ask_image(images, recorded(here("program"), 5));
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR), "old");
	CHECK_HAS(ask_info(images, image).debug, "/05/");
	coati_images_free(&images);
}

TEST(open_passes_over_a_debug_file_with_another_build_id)
{
	struct coati_images_opts opts = { .debug_dirs = here("debug") };
	struct coati_images *images = ask_new(opts);

	CHECK_OK(mkdir("debug", 0700));
	CHECK_OK(mkdir("debug/.build-id", 0700));
	CHECK_OK(mkdir("debug/.build-id/05", 0700));
	make_program("debug/.build-id/05/01020300000000000000000000000000000000.debug", 6, "wrong");
	CHECK_STR(ask_function(images, ask_image(images, recorded(here("gone"), 5)),
			       BUILDER_TEXT_VADDR),
		  "[gone]");
	coati_images_free(&images);
}

TEST(open_knows_a_file_by_its_inode_when_it_has_no_build_id)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref = foreign(here("program"));
	struct stat st;

	make_program("program", 0, "real");
	CHECK_OK(stat("program", &st));
	ref.ino = st.st_ino;
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR), "real");
	ref.ino++;
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR), "[program]");
	CHECK_HAS(ask_why(images, ask_image(images, ref)), "another file");
	coati_images_free(&images);
}

/* As a mapping record without a build ID names the file at @path. */
static struct coati_image_ref mapped(const char *path)
{
	struct coati_image_ref ref = foreign(path);
	struct stat st;

	CHECK_OK(stat(path, &st));
	ref.ino = st.st_ino;
	ref.maj = major(st.st_dev);
	ref.min = minor(st.st_dev);
	return ref;
}

TEST(open_compares_the_device_where_records_and_stat_agree_on_it)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref;
	struct statfs fs;
	bool agrees;

	make_program("program", 0, "real");
	CHECK_OK(statfs("program", &fs));
	agrees = fs.f_type != BTRFS_SUPER_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC;
	ref = mapped(here("program"));
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR), "real");
	ref.min++;
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR),
		  agrees ? "[program]" : "real");
	coati_images_free(&images);
}

TEST(open_refuses_a_new_file_that_was_given_the_inode_number_of_the_old_one)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref;
	long generation = 0;
	int fd;

	make_program("program", 0, "real");
	ref = mapped(here("program"));
	fd = open("program", O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	/* file systems without generations do not use a number again soon */
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) < 0)
		generation = 0;
	close(fd);
	ref.ino_generation = (uint32_t)generation;
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR), "real");
	ref.ino_generation++;
	CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR),
		  generation ? "[program]" : "real");
	coati_images_free(&images);
}

/* ---- files that are held --------------------------------------------------------------------- */

static int hold(struct coati_images *images, struct coati_image_ref ref)
{
	ref.size = sizeof(ref);
	return coati_images_hold(images, &ref);
}

static struct hold_stats hold_stats(const struct coati_images *images)
{
	struct hold_stats st;

	coati_images_hold_stats(images, &st);
	return st;
}

TEST(open_gives_back_what_was_read_for_names_and_reads_the_held_file_again)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref;
	struct image_segment before[IMAGE_SEGMENTS_MAX], after[IMAGE_SEGMENTS_MAX];
	struct coati_image *im;
	uint32_t image, nr;
	uint64_t bytes;

	make_program("program", 1, "old");
	ref = recorded(here("program"), 1);
	CHECK_OK(hold(images, ref));
	image = ask_image(images, ref);
	im = coati_image_at(images, image);
	/* nothing was read yet */
	CHECK_U64(coati_images_give_back(images, 0), ==, 0);
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR), "old");
	CHECK_INT(unlink("program"), ==, 0);
	make_program("program", 2, "new");
	/* not for a little; then all of it, once */
	CHECK_U64(coati_images_give_back(images, UINT64_C(1) << 20), ==, 0);
	nr = coati_image_segments(im, before);
	CHECK_U64(nr, >, 0);
	bytes = coati_images_give_back(images, 1);
	CHECK_U64(bytes, >, 0);
	CHECK_U64(coati_images_give_back(images, 0), ==, 0);
	CHECK(!im->file.bytes);
	/* recordings that are packed now have its layout */
	CHECK_U64(coati_image_segments(im, after), ==, nr);
	CHECK_MEM(after, before, nr * sizeof(*after));
	CHECK_U64(coati_images_give_back(images, 0), ==, 0);
	/* what was answered is known without the file; other addresses are read from the one that
	 * is held, as often as it is given back */
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR), "old");
	CHECK_U64(coati_images_give_back(images, 0), ==, 0);
	for (uint64_t at = 1; at < 4; at++) {
		CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR + at), "old");
		CHECK_U64(coati_images_give_back(images, 0), ==, bytes);
	}
	/* by itself, when it is much */
	CHECK_U64(coati_images_give_back(images, bytes), ==, 0);
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR + 4), "old");
	CHECK(!im->file.bytes);
	CHECK_U64(coati_images_give_back(images, bytes + 1), ==, 0);
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR + 5), "old");
	CHECK(im->file.bytes);
	CHECK_U64(hold_stats(images).held, ==, 1);
	coati_images_free(&images);
}

TEST(open_takes_the_held_file_when_another_one_has_its_place)
{
	for (uint8_t id = 0; id < 2; id++) {
		struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
		struct coati_image_ref ref;

		make_program("program", id, "old");
		ref = id ? recorded(here("program"), id) : mapped(here("program"));
		CHECK_OK(hold(images, ref));
		CHECK_OK(unlink("program"));
		make_program("program", 9, "new");
		CHECK_STR(ask_function(images, ask_image(images, ref), BUILDER_TEXT_VADDR), "old");
		coati_images_free(&images);
	}
}

TEST(open_holds_a_file_once_whoever_maps_it)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref;

	make_program("program", 5, "real");
	ref = mapped(here("program"));
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(hold(images, ref));
		ref.pid++;
		ref.map_start += 4096;
	}
	/* a record that has only the build ID means the same file */
	CHECK_OK(hold(images, recorded(here("program"), 5)));
	CHECK_U64(hold_stats(images).held, ==, 1);
	CHECK_U64(hold_stats(images).over, ==, 0);
	coati_images_free(&images);
}

TEST(open_holds_no_more_files_than_half_of_the_descriptors_that_are_left)
{
	const struct rlimit l = { 300, 300 };
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	char name[32];

	CHECK_OK(setrlimit(RLIMIT_NOFILE, &l));
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "program%d", i);
		make_program(name, 0, "real");
		for (int twice = 0; twice < 2; twice++)
			CHECK_OK(hold(images, mapped(here(name))));
	}
	CHECK_U64(hold_stats(images).held, ==, 22);
	CHECK_U64(hold_stats(images).over, ==, 38);
	/* those that are not held are found by their path */
	CHECK_STR(ask_function(images, ask_image(images, mapped(here("program59"))),
			       BUILDER_TEXT_VADDR),
		  "real");
	coati_images_free(&images);
}

TEST(open_tries_a_few_times_to_hold_a_file)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref = recorded(here("program"), 5);

	CHECK_INT(hold(images, ref), ==, -ENOENT);
	make_program("program", 9, "another");
	CHECK_INT(hold(images, ref), ==, -ESTALE);
	make_program("program", 5, "real");
	CHECK_OK(hold(images, ref));
	CHECK_U64(hold_stats(images).held, ==, 1);
	ref = recorded(here("nowhere"), 6);
	for (int i = 0; i < HOLD_TRIES_MAX; i++)
		CHECK_INT(hold(images, ref), ==, -ENOENT);
	CHECK_OK(hold(images, ref));
	CHECK_U64(hold_stats(images).held, ==, 1);
	coati_images_free(&images);
}

TEST(open_holds_nothing_but_regular_files)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });

	CHECK_OK(mkfifo("fifo", 0600));
	CHECK_INT(hold(images, mapped(here("fifo"))), ==, -EINVAL);
	CHECK_INT(hold(images, mapped("/dev/zero")), ==, -EINVAL);
	CHECK_U64(hold_stats(images).held, ==, 0);
	coati_images_free(&images);
}

TEST(open_asks_no_file_of_this_machine_when_told_so)
{
	struct coati_images *images =
		ask_new((struct coati_images_opts){ .flags = COATI_IMAGES_NO_LOCAL });
	uint32_t image;

	make_program("program", 0, "real");
	image = ask_path(images, here("program"));
	CHECK_STR(ask_function(images, image, BUILDER_TEXT_VADDR), "[program]");
	CHECK_HAS(ask_why(images, image), "local files are disabled");
	coati_images_free(&images);
}

TEST(open_looks_below_the_given_root)
{
	struct coati_images *images;
	char root[PATH_MAX];

	snprintf(root, sizeof(root), "%s", here("sysroot"));
	CHECK_OK(mkdir("sysroot", 0700));
	CHECK_OK(mkdir("sysroot/bin", 0700));
	make_program("sysroot/bin/tool", 0, "inside");
	CHECK_OK(symlink("/bin/tool", "sysroot/bin/alias"));
	images = ask_new((struct coati_images_opts){ .root = root });
	CHECK_STR(ask_function(images, ask_path(images, "/bin/tool"), BUILDER_TEXT_VADDR),
		  "inside");
	/* a link to the root means the given one; links are not followed without openat2() */
	if (!test_emulated())
		CHECK_STR(ask_function(images, ask_path(images, "/bin/alias"), BUILDER_TEXT_VADDR),
			  "inside");
	coati_images_free(&images);
}

/* ---- living processes ---- */

/* A process that runs @path and does nothing; with a mount namespace of its own that has a tmpfs at
 * @mount. */
static pid_t run_sleeper(const char *path, const char *mounted)
{
	int ready[2];
	pid_t pid;
	char c;

	CHECK_OK(pipe2(ready, O_CLOEXEC));
	pid = fork();
	CHECK_OK(pid);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (mounted && (unshare(CLONE_NEWNS) < 0 ||
				mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
				mount("none", mounted, "tmpfs", 0, "") < 0))
			_exit(77);
		if (mounted)
			test_copy_file("/bin/sleep", path);
		execl(path, "sleep", "1000", (char *)NULL);
		_exit(78);
	}
	close(ready[1]);
	CHECK_INT(read(ready[0], &c, 1), ==, 0); /* closed by exec, or by its end */
	close(ready[0]);
	return pid;
}

/* Whether it is there. */
static bool find_mapping(struct coati_image_ref *ref, const char *name, uint64_t *ret_offset)
{
	static char line[PATH_MAX + 128], path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", ref->pid);
	f = fopen(path, "re");
	CHECK(f);
	while (!ref->path && fgets(line, sizeof(line), f)) {
		char *dash = strchr(line, '-'), *blank = strchr(line, ' '),
		     *slash = strchr(line, '/');

		if (!slash || !strstr(slash, name) || strncmp(blank + 3, "x", 1) != 0)
			continue;
		*dash = *blank = '\0';
		blank[14] = '\0';
		slash[strcspn(slash, "\n")] = '\0';
		CHECK_OK(coati_parse_hex(line, &ref->map_start));
		CHECK_OK(coati_parse_hex(dash + 1, &ref->map_end));
		CHECK_OK(coati_parse_hex(blank + 6, ret_offset));
		snprintf(path, sizeof(path), "%s", slash);
		ref->path = path;
	}
	fclose(f);
	return ref->path;
}

/* The executable mapping of the program of @pid, which exec makes after it has closed
 * descriptors. */
static struct coati_image_ref mapping_of(pid_t pid, const char *name, uint64_t *ret_offset)
{
	struct coati_image_ref ref = { .pid = pid };

	for (int i = 0; i < 5000 && !find_mapping(&ref, name, ret_offset); i++)
		usleep(1000);
	CHECK(ref.path);
	return ref;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TEST(open_finds_the_deleted_program_of_a_living_process)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref;
	uint64_t offset = 0, vaddr = 0;
	uint32_t image;
	struct stat st;
	pid_t pid;

	if (test_emulated())
		test_skip("the emulator runs other programs as itself");
	test_copy_file("/bin/sleep", "doomed");
	CHECK_OK(stat("doomed", &st));
	pid = run_sleeper("./doomed", NULL);
	CHECK_OK(unlink("doomed"));
	make_program("doomed", 0, "impostor");
	ref = mapping_of(pid, "doomed", &offset);
	CHECK_HAS(ref.path, "(deleted)");
	ref.ino = st.st_ino;
	image = ask_image(images, ref);
	CHECK_OK(coati_image_vaddr(images, image, offset, &vaddr));
	CHECK_HAS(ask_info(images, image).opened, "/proc/");
	CHECK_STR(ask_info(images, image).name, "doomed");
	end_sleeper(pid);
	coati_images_free(&images);
}

TEST(open_finds_files_of_a_container_through_the_root_of_its_process)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref;
	uint64_t offset = 0, vaddr = 0;
	char program[PATH_MAX];
	uint32_t image;
	pid_t pid;

	if (test_emulated())
		test_skip("the emulator gives programs in a container another root");
	if (geteuid() != 0)
		test_skip_need("root", "mounting needs root");
	CHECK_OK(mkdir("inner", 0755));
	snprintf(program, sizeof(program), "%s", here("inner/only-here"));
	pid = run_sleeper(program, here("inner"));
	if (waitpid(pid, NULL, WNOHANG) == pid)
		test_skip("no mount namespaces here");
	CHECK_INT(access(program, F_OK), ==, -1);
	ref = mapping_of(pid, "only-here", &offset);
	ref.map_start = ref.map_end = 0; /* an ordinary user has no map_files */
	image = ask_image(images, ref);
	CHECK_OK(coati_image_vaddr(images, image, offset, &vaddr));
	CHECK_HAS(ask_info(images, image).opened, "/root/");
	end_sleeper(pid);
	coati_images_free(&images);
}
