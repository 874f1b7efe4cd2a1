/*
 * fuzz_kernel_config.c - arbitrary bytes as a kernel configuration
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte determines the size of the text buffer.  The linker replaces
 * sys_openat() with the one below.
 */
#include "measure/kernel_config.h"
#include "base/sys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_sys_openat(int dirfd, const char *path, int flags, mode_t mode);

static const uint8_t *file;
static size_t file_B;

int
__wrap_sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = memfd_create("config", MFD_CLOEXEC);

	(void)dirfd;
	(void)path;
	(void)flags;
	(void)mode;
	if (fd < 0 || write(fd, file, file_B) != (ssize_t)file_B ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room;
	char *text;

	if (size == 0)
		return 0;
	room = 1 + (size_t)data[0];
	text = malloc(room);
	if (text == NULL)
		abort();
	memset(text, 'x', room);
	file = data + 1;
	file_B = size - 1;
	if (kernel_config("CONFIG_SQUASHFS", text, room) != 0 ||
	    strnlen(text, room) == room || strchr(text, '\n') != NULL)
		abort();
	free(text);
	return 0;
}
