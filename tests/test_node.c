/*
 * test_node.c - creating names below a directory that others may change
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/node.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[SCRATCH_B];
static int dir;

static int
set_up(void **state)
{
	(void)state;
	if (scratch_make(path) == NULL)
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY);
	return dir < 0 ? -1 : 0;
}

static int
tear_down(void **state)
{
	static const char *const names[] = { "file", "other", "link" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		unlinkat(dir, names[i], 0);
		unlinkat(dir, names[i], AT_REMOVEDIR);
	}
	close(dir);
	return rmdir(path);
}

/* Creates a file of `size` bytes, which must succeed. */
static void
made(const char *name, uint64_t size, bool replace)
{
	struct stat st;
	int fd = node_file(dir, name, 0600, replace);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	close(fd);
}

static void
test_reopen(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(node_reopen(dir, "file"), -ENOENT);
	made("file", 5, false);
	fd = node_reopen(dir, "file");
	assert_true(fd >= 0);
	close(fd);
	/* somebody else's file put in its place, or a link to it elsewhere */
	assert_int_equal(linkat(dir, "file", dir, "other", 0), 0);
	assert_int_equal(node_reopen(dir, "file"), -ESTALE);
	assert_int_equal(unlinkat(dir, "other", 0), 0);
	fd = node_reopen(dir, "file");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(unlinkat(dir, "file", 0), 0);
	assert_int_equal(symlinkat("other", dir, "file"), 0);
	assert_int_equal(node_reopen(dir, "file"), -ELOOP);
	assert_int_equal(unlinkat(dir, "file", 0), 0);
	/* a FIFO without a reader, and one with */
	assert_int_equal(mkfifoat(dir, "file", 0600), 0);
	assert_int_equal(node_reopen(dir, "file"), -ENXIO);
	fd = openat(dir, "file", O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(node_reopen(dir, "file"), -ESTALE);
	close(fd);
}

/* Every kind of name replaces another one only if asked, and no directory. */
static void
test_replace(void **state)
{
	struct stat st;

	(void)state;
	made("file", 3, false);
	assert_int_equal(node_file(dir, "file", 0600, false), -EEXIST);
	assert_int_equal(node_dir(dir, "file", false), -EEXIST);
	assert_int_equal(node_symlink(dir, "file", "x", false), -EEXIST);
	assert_int_equal(node_special(dir, "file", S_IFIFO, 0, false), -EEXIST);
	made("other", 7, false);
	assert_int_equal(node_link(dir, "other", dir, "file", false), -EEXIST);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_size, 3);

	assert_int_equal(node_link(dir, "other", dir, "file", true), 0);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_size, 7);
	/* the new file is another one: a link elsewhere keeps its data */
	made("file", 1, true);
	assert_int_equal(fstatat(dir, "other", &st, 0), 0);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(node_symlink(dir, "file", "other", true), 0);
	made("file", 2, true);
	assert_int_equal(fstatat(dir, "other", &st, 0), 0);
	assert_int_equal(st.st_size, 7);
	assert_int_equal(node_special(dir, "file", S_IFIFO, 0, true), 0);
	assert_int_equal(fstatat(dir, "file", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0600);

	assert_int_equal(node_dir(dir, "file", true), 1);
	assert_int_equal(node_dir(dir, "file", true), 0);
	assert_int_equal(fstatat(dir, "file", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(node_file(dir, "file", 0600, true), -EISDIR);
	assert_int_equal(node_symlink(dir, "file", "x", true), -EISDIR);
	assert_int_equal(node_link(dir, "other", dir, "file", true), -EISDIR);
	/* a link to a directory is not one */
	assert_int_equal(node_symlink(dir, "link", "file", false), 0);
	assert_int_equal(node_dir(dir, "link", false), -EEXIST);
	assert_int_equal(node_dir(dir, "link", true), 1);
}

/* What the group may do is not shown to another group meanwhile. */
static void
test_first_mode(void **state)
{
	static const mode_t modes[][2] = { { 0644, 0644 }, { 0755, 0755 },
	    { 0444, 0644 }, { 0111, 0711 }, { 0640, 0600 }, { 0664, 0600 },
	    { 0646, 0600 }, { 06755, 0755 }, { 01777, 0755 }, { 0, 0600 } };
	mode_t mask = umask(022);
	struct stat st;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		int fd = node_file(dir, "file", modes[i][0], i > 0);

		assert_true(fd >= 0);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, modes[i][1]);
		close(fd);
	}
	umask(mask);
}

static void
test_root(void **state)
{
	char below[SCRATCH_B + 8];
	bool new;
	int fd;

	(void)state;
	snprintf(below, sizeof(below), "%s/file", path);
	fd = node_root(below, 0700, &new);
	assert_true(fd >= 0 && new);
	close(fd);
	fd = node_root(below, 0700, &new);
	assert_true(fd >= 0 && !new);
	close(fd);
	assert_int_equal(unlinkat(dir, "file", AT_REMOVEDIR), 0);
	made("file", 0, false);
	assert_int_equal(node_root(below, 0700, &new), -ENOTDIR);
	assert_false(new);
}

struct failures {
	unsigned count, attributes;
	bool chmods;			/* the attributes change the mode */
	char what[64];
};

static void
failed(void *arg, const char *what, int rc)
{
	struct failures *f = arg;

	assert_true(rc < 0);
	f->count++;
	snprintf(f->what, sizeof(f->what), "%s", what);
}

static bool
attributes(void *arg)
{
	struct failures *f = arg;

	f->attributes++;
	if (f->chmods)
		assert_int_equal(fchmodat(dir, "file", 0, 0), 0);
	return f->chmods;
}

static void
test_finish(void **state)
{
	struct failures f = { .count = 0 };
	struct node_status s = { .mode = S_IFREG | 06751, .uid = getuid(),
		.gid = getgid(), .mtime = { 86400, 5 },
		.attributes = attributes, .fail = failed, .arg = &f };
	struct stat st;

	(void)state;
	made("file", 0, false);
	node_finish(dir, "file", &s);
	assert_int_equal(f.count, 0);
	assert_int_equal(f.attributes, 1);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	/* no set-ID bits for an owner who was not asked for */
	assert_int_equal(st.st_mode & 07777, 0751);
	assert_int_equal(st.st_mtim.tv_sec, 86400);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
	s.owner = true;
	node_finish(dir, "file", &s);
	assert_int_equal(f.count, 0);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 06751);
	if (geteuid() == 0) {
		s.uid = 7;
		s.gid = 9;
		node_finish(dir, "file", &s);
		assert_int_equal(f.count, 0);
		assert_int_equal(fstatat(dir, "file", &st, 0), 0);
		assert_int_equal(st.st_uid, 7);
		assert_int_equal(st.st_gid, 9);
		assert_int_equal(st.st_mode & 07777, 06751);
		/* only one of both is wrong */
		s.uid = 8;
		node_finish(dir, "file", &s);
		assert_int_equal(fstatat(dir, "file", &st, 0), 0);
		assert_int_equal(st.st_uid, 8);
		assert_int_equal(st.st_mode & 07777, 06751);
		s.gid = 8;
		node_finish(dir, "file", &s);
		assert_int_equal(fstatat(dir, "file", &st, 0), 0);
		assert_int_equal(st.st_gid, 8);
		assert_int_equal(st.st_mode & 07777, 06751);
	}
	/* attributes can change the mode */
	f.chmods = true;
	node_finish(dir, "file", &s);
	f.chmods = false;
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 06751);
	/* a link is finished itself, not what it leads to */
	assert_int_equal(node_symlink(dir, "link", "file", false), 0);
	s.mode = S_IFLNK | 0777;
	s.owner = false;
	s.mtime.tv_sec = 5;
	node_finish(dir, "link", &s);
	assert_int_equal(f.count, 0);
	assert_int_equal(fstatat(dir, "file", &st, 0), 0);
	assert_int_equal(st.st_mtim.tv_sec, 86400);
	assert_int_equal(st.st_mode & 07777, 06751);
	assert_int_equal(fstatat(dir, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(st.st_mtim.tv_sec, 5);
	s.mode = S_IFREG | 0600;
	node_finish(dir, "missing", &s);
	assert_int_equal(f.count, 2);
	assert_string_equal(f.what, "cannot set time: ");
}

/* Only a file that is open gets a size, and keeps its data. */
static void
test_size(void **state)
{
	struct failures f = { .count = 0 };
	struct node_status s = { .mode = S_IFREG | 0644, .size = 1 << 20,
		.fail = failed, .arg = &f };
	int fd = node_file(dir, "file", 0644, false), at;
	char text[8] = "";
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "data", 4, 0), 4);
	assert_int_equal(node_finish(fd, NULL, &s), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 1 << 20);
	at = openat(dir, "file", O_RDONLY);
	assert_int_equal(read(at, text, 5), 5);
	close(at);
	assert_memory_equal(text, "data", 5);
	s.size = 7;
	assert_int_equal(node_finish(dir, "file", &s), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 1 << 20);
	s.size = UINT64_MAX;
	assert_int_equal(node_finish(fd, NULL, &s), -EINVAL);
	assert_int_equal(f.count, 0);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reopen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_replace, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_first_mode, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_root, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_finish, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_size, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
