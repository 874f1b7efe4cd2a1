/*
 * zfs_dir.h - the directories of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Used only by the parts of zfs_meta.  A small directory is a block of 64-byte
 * entries; a large one, or one with a long name, consists of leaves found by
 * hash.
 */
#ifndef COLDPRESS_ZFS_DIR_H
#define COLDPRESS_ZFS_DIR_H

#include "zfs_dnode.h"

/*
 * Adds a directory with these names, its dnode and its blocks.  Returns 0 or
 * -ENOMEM.
 */
int zfs_dir_add(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count);

#endif
