/*
 * as_fix.c - mending an image that mksquashfs or sqpack wrote with -stream
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>

int
as_fix(const char *path)
{
	uint8_t first[SQUASHFS_SUPER_B], last[SQUASHFS_SUPER_B];
	int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0), rc = fd;
	int closed = 0;
	off_t end = fd < 0 ? 0 : sys_lseek(fd, 0, SEEK_END);

	if (fd >= 0 && end < 2 * SQUASHFS_SUPER_B)
		rc = end < 0 ? (int)end : -EBADMSG;
	if (rc >= 0)
		rc = (int)fdio_pread(fd, first, sizeof(first), 0);
	if (rc >= 0)
		rc = (int)fdio_pread(fd, last, sizeof(last), end -
		    SQUASHFS_SUPER_B);
	if (rc >= 0 && (load_le32(first) != SQUASHFS_STREAMED ||
	    load_le32(last) != SQUASHFS_MAGIC))
		rc = -EBADMSG;
	if (rc >= 0)
		rc = fdio_pwrite(fd, last, sizeof(last), 0);
	if (rc == 0)
		rc = sys_fsync(fd);
	if (rc == 0)
		rc = sys_ftruncate(fd, end - SQUASHFS_SUPER_B);
	if (fd >= 0)
		closed = sys_close(fd);
	return rc != 0 ? rc : closed;
}
