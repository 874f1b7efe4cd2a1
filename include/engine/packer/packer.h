/*
 * packer.h - what filesystems compress a block with
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A packer compresses blocks of up to a given size, one after the other.  It
 * belongs to one thread.
 */
#ifndef COLDPRESS_PACKER_H
#define COLDPRESS_PACKER_H

#include <stddef.h>
#include <stdint.h>

struct packer;

struct packer_kind {
	const char *name;
	int level_least, level_most;	/* equal: the name has no level */
	int level_default;		/* of the name without one */
	/* Its state for blocks of up to most bytes; NULL: no memory. */
	void *(*open)(int level, size_t most);
	void (*close)(void *state);
	/* The size of len bytes, compressed to out; 0: more than cap. */
	size_t (*pack)(void *state, const uint8_t *in, size_t len,
	    uint8_t *out, size_t cap);
};

/*
 * The compressors as filesystems run them, each table ended by a name of
 * NULL.  A kind with levels below 0 is none of "all".
 *
 * ZFS, without what it puts in front: lzjb, zle, lz4, gzip-1..9 (zlib
 * streams), zstd-1..19 and zstd-fast-1..1000.
 */
extern const struct packer_kind packers_zfs[], packers_zfs_fuse[];

/* btrfs, with its framing: zlib-1..9, lzo, zstd-1..15. */
extern const struct packer_kind packers_btrfs[];

/* mksquashfs: gzip-1..9, lz4, lz4hc, lzo-1..9, xz, zstd-1..22. */
extern const struct packer_kind packers_squashfs[];

struct packer_name {
	const struct packer_kind *kind;	/* NULL: "off" */
	int level;
	char text[24];			/* as it is written: gzip-6 */
};

/* Of a table, by a name such as lz4 or gzip-6.  0 or -EINVAL.  Thread-safe. */
int packer_by_name(const struct packer_kind *kinds, const char *text,
    struct packer_name *name);

/* 0 or -ENOMEM.  *p is NULL where the kind is. */
int packer_open(struct packer **p, const struct packer_name *name,
    size_t most);
void packer_close(struct packer *p);

/* What len bytes, at least one, take compressed: 1..cap, or 0: no less. */
size_t packer_pack(struct packer *p, const uint8_t *in, size_t len,
    size_t cap);

/*
 * These bytes, until the next call; not of the lzo of btrfs, which is only
 * measured.
 */
const uint8_t *packer_out(const struct packer *p);

#endif
