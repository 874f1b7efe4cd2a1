/*
 * packer.h - the block compressors used by filesystems
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A packer compresses blocks of up to a given size, one after another.  It
 * belongs to one thread.
 */
#ifndef COLDPRESS_PACKER_H
#define COLDPRESS_PACKER_H

#include <stddef.h>
#include <stdint.h>

struct packer;
struct packer_name;
struct packer_zstd;

struct packer_kind {
	const char *name;
	int level_min, level_max;	/* equal if the compressor has no
					 * levels */
	int level_default;		/* used if the name contains no level */
	/*
	 * Creates the state for blocks of up to `most` bytes.  Returns NULL if
	 * out of memory.
	 */
	void *(*open)(const struct packer_name *name, size_t most);
	void (*close)(void *state);
	/*
	 * Compresses len bytes to out.  Returns the size, or 0 if it exceeds
	 * cap.
	 */
	size_t (*pack)(void *state, const uint8_t *in, size_t len,
	    uint8_t *out, size_t cap);
};

/*
 * The compressors, under the names that filesystems use.  Each table ends with
 * a NULL name.  A kind with negative levels is not part of "all".
 *
 * As in ZFS, but without the header that ZFS adds: lzjb, zle, lz4, gzip-1..9
 * (zlib streams), zstd-1..19 and zstd-fast-1..1000.
 */
extern const struct packer_kind packers_zfs[], packers_zfs_fuse[];

/* As in btrfs, with its framing: zlib-1..9, lzo, zstd-1..15. */
extern const struct packer_kind packers_btrfs[];

/* As in mksquashfs: gzip-1..9, lz4, lz4hc, lzo-1..9, xz, zstd-1..22. */
extern const struct packer_kind packers_squashfs[];

/* What gensquashfs compresses otherwise: lzo-1..9, without optimization. */
extern const struct packer_kind packers_gensquashfs[];

struct packer_name {
	const struct packer_kind *kind;	/* NULL: "off" */
	int level;
	char text[24];			/* as given: gzip-6 */
	/*
	 * The libzstd for ZFS's zstd (packer_zstd.h); NULL: the one with which
	 * this program runs.
	 */
	const struct packer_zstd *zstd;
};

/*
 * Looks up a name such as lz4 or gzip-6 in a table.  Returns 0 or -EINVAL.
 * Thread-safe.
 */
int packer_by_name(const struct packer_kind *kinds, const char *text,
    struct packer_name *name);

/* Returns 0 or -ENOMEM.  For a NULL kind ("off"), *p is NULL. */
int packer_open(struct packer **p, const struct packer_name *name,
    size_t most);
void packer_close(struct packer *p);

/*
 * Compresses len bytes, at least one.  Returns the size, 1..cap, or 0 if the
 * result is not smaller.
 */
size_t packer_pack(struct packer *p, const uint8_t *in, size_t len,
    size_t cap);

/*
 * Returns the compressed bytes, valid until the next call; not available for
 * btrfs's lzo, which is only measured.
 */
const uint8_t *packer_out(const struct packer *p);

/*
 * Returns what a program linked with liblzo2 adds to its -V: a newline, then
 * the library's version and the licence of the program as a whole; "" in a
 * build without LZO.  The text is static.
 */
const char *packer_lzo_notice(void);

#endif
