/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/fdio.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char path[] = "test_fdio.XXXXXX";

/* Files of every size around the buffers' and the limit's */
static void
whole_files(void **state)
{
	static const size_t sizes[] = { 0, 1, 8190, 8191, 8192, 16382, 16383,
		16384, 40000 };
	char *all = malloc(40000), *text;
	int fd = *(int *)*state;
	size_t len;

	for (size_t i = 0; i < 40000; i++)
		all[i] = (char)(i * i >> 3);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t n = sizes[i];

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(fdio_pwrite(fd, all, n, 0), 0);
		for (size_t max = n > 0 ? n - 1 : 0; max <= n + 1; max++) {
			assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
			if (max < n) {
				assert_int_equal(fdio_read_all(fd, max, &text,
				    &len), -EFBIG);
				continue;
			}
			assert_int_equal(fdio_read_all(fd, max, &text, &len),
			    0);
			assert_int_equal(len, n);
			assert_memory_equal(text, all, n);
			assert_int_equal(text[n], 0);
			sys_free(text);
		}
	}
	free(all);
}

static void
errors(void **state)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	char *text, byte = 0;
	size_t len;

	(void)state;
	assert_int_equal(fdio_read_all(dir, 9, &text, &len), -EISDIR);
	assert_int_equal(fdio_read_all(-1, 9, &text, &len), -EBADF);
	assert_int_equal(fdio_pwrite(-1, &byte, 1, 0), -EBADF);
	assert_int_equal(fdio_pwrite(full, &byte, 1, 0), -ENOSPC);
	assert_int_equal(fdio_pwrite(full, &byte, 0, 0), 0);
	close(dir);
	close(full);
}

static int
setup(void **state)
{
	static int fd;

	fd = mkstemp(path);
	*state = &fd;
	return fd == -1;
}

static int
teardown(void **state)
{
	return close(*(int *)*state) != 0 || unlink(path) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files),
		cmocka_unit_test(errors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
