/*
 * packer_zstd.h - another libzstd for ZFS's packers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * OpenZFS contains zstd 1.4.5, whose output differs from that of later
 * versions.  A libzstd of that version, loaded from a file, writes what OpenZFS
 * would.
 */
#ifndef COLDPRESS_PACKER_ZSTD_H
#define COLDPRESS_PACKER_ZSTD_H

struct packer_zstd;

/* The version that OpenZFS contains, as ZSTD_versionNumber() has it. */
enum { PACKER_ZSTD_ZFS = 10405 };

enum { PACKER_ZSTD_WHY_B = 256 };

/*
 * Loads the shared library in a file, whose code then runs in this process; its
 * version must be 1.4.0 or later.  Returns 0 or -errno, with the reason in
 * words in `why`.  All packers that use it must be closed before it is unloaded;
 * NULL is ignored.  Several threads can use it at the same time.
 */
int packer_zstd_load(struct packer_zstd **z, const char *path,
    char why[PACKER_ZSTD_WHY_B]);
void packer_zstd_unload(struct packer_zstd *z);

/*
 * Returns its version, or that of the libzstd with which this program runs if z
 * is NULL: 10405 is 1.4.5.
 */
unsigned packer_zstd_version(const struct packer_zstd *z);

#endif
