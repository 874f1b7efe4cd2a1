/*
 * fs_one.h - what a filesystem allocates for one record or chunk
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For those that see parts of files only; models (fs_model.h) add metadata.
 * Everything here is thread-safe if packers belong to the calling thread.
 */
#ifndef COLDPRESS_FS_ONE_H
#define COLDPRESS_FS_ONE_H

#include "engine/packer/packer.h"

#include <stdint.h>

/* The size of btrfs's chunks; those of a file begin at multiples of it. */
enum { FS_CHUNK = 512 << 10 };

/*
 * Returns what OpenZFS allocates, in a pool made with its defaults on disks with
 * sectors of 4 KiB, for a record compressed by p, which implements the algorithm
 * `name` of packers_zfs.  data has room for recordsize bytes; the first len of
 * them are the file's, and the others become zero.  file_size is the size of the
 * whole file.  probes are the packers lz4 and zstd-1.
 */
uint64_t fs_one_record(const struct packer_name *name, struct packer *p,
    struct packer *const probes[2], uint8_t *data, uint32_t len,
    uint32_t recordsize, uint64_t file_size);

/*
 * Returns what btrfs allocates for the chunk at offset of a file of file_size
 * bytes, compressed by p as far as that pays.  data has the chunk, up to the end
 * of the file, and room for zeros up to a multiple of 4 KiB.
 */
uint64_t fs_one_chunk(struct packer *p, uint8_t *data, uint64_t offset,
    uint64_t file_size);

#endif
