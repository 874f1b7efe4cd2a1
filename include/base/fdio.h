/*
 * fdio.h - whole reads and writes on descriptors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Thread-safe as far as the descriptor is not shared.  An interrupted call
 * goes on; a descriptor in non-blocking mode is waited for.
 */
#ifndef COLDPRESS_FDIO_H
#define COLDPRESS_FDIO_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Up to len bytes, from where the descriptor stands or from offset; fewer
 * only at the end.  The number read, or -errno.
 */
ssize_t fdio_read(int fd, void *buf, size_t len);
ssize_t fdio_pread(int fd, void *buf, size_t len, off_t offset);

/*
 * Reads to the end: *text is the caller's, for sys_free(), *len bytes and a NUL
 * behind them.  0, -EFBIG (more than max bytes), -ENOMEM or -errno; then there
 * is none.
 */
int fdio_read_all(int fd, size_t max, char **text, size_t *len);

/* All len bytes, or -errno (0 when they were written). */
int fdio_write(int fd, const void *buf, size_t len);

/*
 * Brings what was written to the disk.  What has nothing to be synced, as a
 * pipe or a terminal, is passed over.  0 or -errno.
 */
int fdio_sync(int fd);

/*
 * Opens those of descriptors 0 to 2 that are closed, which would else be given
 * to the next file that is opened, and then be read or written in its stead.
 * What takes their place cannot be used either.  For the start of a main.
 */
void fdio_hold_standard(void);

/*
 * Owner, permissions, extended attributes with ACLs, and times in
 * nanoseconds, of from onto to, in that order.  What gives a program rights
 * or speaks of the content stays behind: set-id and sticky bits, capabilities,
 * hashes and signatures of IMA and EVM.  An attribute that the target cannot
 * hold is passed over.  0 or the first -errno; the later ones are still tried.
 */
int fdio_copy_meta(int from, int to);

#endif
