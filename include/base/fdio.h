/*
 * fdio.h - complete reads and writes on descriptors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Thread-safe unless the descriptor is shared.  Interrupted calls are
 * restarted.  On a non-blocking descriptor, each function waits until the
 * descriptor is ready.
 */
#ifndef COLDPRESS_FDIO_H
#define COLDPRESS_FDIO_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads len bytes, from the current position or from offset, or fewer at the
 * end of the file.  Returns the number read, or -errno.
 */
ssize_t fdio_read(int fd, void *buf, size_t len);
ssize_t fdio_pread(int fd, void *buf, size_t len, off_t offset);

/*
 * Reads to the end of the file.  *text is set to the *len bytes read, followed
 * by a NUL; the caller frees it with sys_free().  Returns 0, or -EFBIG (more
 * than max bytes), -ENOMEM or -errno; on failure there is nothing to free.
 */
int fdio_read_all(int fd, size_t max, char **text, size_t *len);

/*
 * Reads a small file, such as one in /proc, whose path is relative to dir: at
 * most size - 1 bytes, followed by a NUL, or only its first line without the
 * newline.  Returns the length, or -errno with text empty.
 */
ssize_t fdio_read_text(int dir, const char *path, char *text, size_t size);
ssize_t fdio_read_line(int dir, const char *path, char *text, size_t size);

/*
 * Writes all len bytes, at the current position or at offset.  Returns 0 or
 * -errno.
 */
int fdio_write(int fd, const void *buf, size_t len);
int fdio_pwrite(int fd, const void *buf, size_t len, off_t offset);

/*
 * Syncs written data to disk.  Descriptors that cannot be synced, such as pipes
 * and terminals, are ignored.  Returns 0 or -errno.
 */
int fdio_sync(int fd);

/*
 * Opens any of descriptors 0 to 2 that is closed.  Otherwise the next file
 * opened would get that number and be read or written by mistake.  I/O on the
 * replacement descriptors fails.  Call this at the start of main().
 */
void fdio_hold_standard(void);

/*
 * Copies the owner, permissions, extended attributes (including ACLs) and
 * nanosecond timestamps from one file to another, in that order.  Attributes
 * that grant privileges to a program or describe the content are not copied:
 * set-id and sticky bits, capabilities, and IMA and EVM hashes and signatures.
 * An attribute that the target does not support is skipped.  After an error,
 * copying continues.  Returns 0 or the first -errno.
 */
int fdio_copy_meta(int from, int to);

#endif
