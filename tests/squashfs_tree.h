/*
 * squashfs_tree.h - a tree to make SquashFS images of, with mksquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The group's setup and teardown are in begin and end.  Without mksquashfs, the
 * test is skipped.
 */
#ifndef COLDPRESS_TESTS_SQUASHFS_TREE_H
#define COLDPRESS_TESTS_SQUASHFS_TREE_H

#include "scratch.h"
#include "walk_log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static struct digest_algo *algo;
static char dir[SCRATCH_B];

static inline void
put(const char *path, const char *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	close(fd);
}

/* Makes files of many lengths, compressible and incompressible. */
static inline void
make_tree(void)
{
	static char data[700001];
	uint32_t seed = 5;
	char path[300];
	int fd;

	assert_int_equal(mkdir("tree", 0755), 0);
	assert_int_equal(mkdir("tree/many", 0755), 0);
	assert_int_equal(mkdir("tree/empty", 0755), 0);
	for (size_t i = 0; i < sizeof(data); i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = (char)(i / 30000 % 3 == 0 ? seed >> 24 :
		    (unsigned)"wide cold image of a disk"[seed >> 28]);
	}
	put("tree/nothing", data, 0);
	put("tree/byte", data, 1);
	put("tree/4096", data, 4096);
	put("tree/4097", data, 4097);
	put("tree/131072", data, 131072);
	put("tree/131073", data + 1, 131073);
	put("tree/large", data, sizeof(data));
	put("tree/many/twin", data, sizeof(data));
	put("tree/new\nline\\", data + 77, 1000);
	for (int i = 0; i < 700; i++) {
		snprintf(path, sizeof(path), "tree/many/a file number %d", i);
		put(path, data + i * 7, (size_t)(i * 13 % 3000));
	}
	memset(path, 'n', 255);
	memcpy(path, "tree/", 5);
	path[5 + 255] = '\0';
	memset(path + 5, 'n', 255);
	put(path, data, 300);
	fd = open("tree/holes", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 3000000), 0);
	assert_int_equal(pwrite(fd, data, 9000, 1500000), 9000);
	close(fd);
	fd = open("tree/void", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 400000), 0);
	close(fd);
	assert_int_equal(link("tree/large", "tree/hard"), 0);
	assert_int_equal(symlink("large", "tree/soft"), 0);
	assert_int_equal(mkfifo("tree/pipe", 0600), 0);
}

static inline int
shell(const char *command)
{
	int rc = system(command);

	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

static inline int
begin(void **state)
{
	(void)state;
	if (shell("mksquashfs -version >/dev/null 2>&1") > 1)
		exit(77);
	if (scratch_make(dir) == NULL || chdir(dir) == -1)
		return -1;
	make_tree();
	return digest_algo_open(&algo, "sha256");
}

static inline int
end(void **state)
{
	char command[SCRATCH_B + 16];

	(void)state;
	digest_algo_close(algo);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return shell(command);
}

static inline struct walk_options
options(unsigned threads, struct walk_log *log)
{
	return (struct walk_options){ .threads = threads, .digest = algo,
	    .row = walk_log_row, .damage = walk_log_damage, .arg = log };
}

#endif
