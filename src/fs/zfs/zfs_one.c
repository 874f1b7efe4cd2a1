/*
 * zfs_one.c - what OpenZFS allocates for one record
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fs/fs_one.h"
#include "zfs.h"

#include <string.h>

uint64_t
fs_one_record(const struct packer_name *name, struct packer *p,
    struct packer *const probes[2], uint8_t *data, uint32_t len,
    uint32_t recordsize, uint64_t file_size)
{
	const struct zfs_pool pool = { .features = true,
		.whole_sectors = true, .early_abort = true, .embeds = true,
		.ashift = 12, .copies = 1, .meta_copies = 2,
		.pointer_copies = 2, .dnode_copies = 2, .dnode = 512,
		.recordsize = recordsize };
	uint32_t record = zfs_record_size(&pool, file_size);
	struct zfs_space sum = { .blocks = 0 };

	memset(data + len, 0, recordsize - len);
	/* a record of zeros is a hole if there is compression */
	if (name->kind == NULL || !zfs_is_zero(data, record))
		zfs_record(&pool, name, p, probes, data, record, &sum);
	return sum.allocated_B;
}
