/*
 * verity.h - the hash tree of dm-verity behind an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format is that of veritysetup(8), version 1, with SHA-256 and blocks of
 * 4096 bytes: a superblock in the first block after the data, then the levels
 * of the tree, the highest first.  Source: the kernel's
 * Documentation/admin-guide/device-mapper/verity.rst, and the wiki page
 * DMVerity of cryptsetup.
 */
#ifndef COLDPRESS_IMAGE_VERITY_H
#define COLDPRESS_IMAGE_VERITY_H

#include <stddef.h>
#include <stdint.h>

enum { VERITY_BLOCK_B = 4096, VERITY_HASH_B = 32 };

/*
 * Appends the tree of the first data_B bytes of fd, a multiple of
 * VERITY_BLOCK_B, hashing with the given number of threads.  The salt and the
 * UUID are derived from the data, so they are always the same.  Returns 0 with
 * the root hash and the end of the tree, -EFBIG, -ENOMEM, -EIO or -errno from a
 * read or write.
 */
int verity_append(int fd, uint64_t data_B, unsigned threads,
    uint8_t root[VERITY_HASH_B], uint64_t *end);

/* A tree that was read. */
struct verity;

/*
 * Reads and verifies the tree of the data_B bytes at byte offset of fd, which
 * is behind them.  Returns 0; -EBADMSG with the reason in *why, if there is no
 * tree or it does not have this root hash; -ENOMEM; or -errno from a read.
 */
int verity_open(struct verity **v, int fd, uint64_t offset, uint64_t data_B,
    const uint8_t root[VERITY_HASH_B], const char **why);
void verity_close(struct verity *v);		/* v may be NULL */

/*
 * Reads len bytes at byte `at` of the data like fdio_pread(), and verifies all
 * blocks that they are in.  Returns the number of bytes, -EBADMSG if a block
 * does not match the tree or the bytes are beyond the data, -ENOMEM, or -errno.
 * Thread-safe.
 */
int64_t verity_pread(const struct verity *v, void *buf, size_t len,
    uint64_t at);

#endif
