/*
 * zfs_dir.h - the directories of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to the parts of zfs_meta.  A small one is a block of entries of 64
 * bytes; one that is large or has a long name, leaves found by a hash.
 */
#ifndef COLDPRESS_ZFS_DIR_H
#define COLDPRESS_ZFS_DIR_H

#include "zfs_dnode.h"

/* A directory with these names, its dnode and its blocks. */
void zfs_dir_add(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count);

#endif
