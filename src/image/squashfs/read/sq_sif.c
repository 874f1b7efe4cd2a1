/*
 * sq_sif.c - finding the image in a file of the Singularity Image Format
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the format's description, in the documentation of
 * github.com/sylabs/sif (pkg/sif).  All numbers are little-endian.
 */
#include "squashfs.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

enum {
	HEADER_B = 128, MAGIC_AT = 32, DESCRIPTORS_AT = 88,
	/* a descriptor */
	DESCRIPTOR_B = 585, USED_AT = 4, OFFSET_AT = 17,
	FS_AT = 201, PART_AT = 205,
	/* values */
	PARTITION = 0x4004, SQUASH = 1, SYSTEM = 2,
	DESCRIPTORS_MAX = 1024
};

static const char magic[10] = "SIF_MAGIC";

int
sq_find_sif(int fd, uint64_t *offset)
{
	struct sq_super s = { .fd = fd, .length = HEADER_B };
	uint8_t p[DESCRIPTOR_B];
	uint64_t count, table, at;
	bool found = false;
	int rc = sq_read(&s, 0, p, HEADER_B);

	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	if (memcmp(p + MAGIC_AT, magic, sizeof(magic)) != 0)
		return 0;
	count = load_le64(p + DESCRIPTORS_AT);
	table = load_le64(p + DESCRIPTORS_AT + 8);
	if (count > DESCRIPTORS_MAX || table > INT64_MAX / 2)
		return 0;
	s.length = table + count * DESCRIPTOR_B;
	for (uint64_t i = 0; i < count; i++) {
		rc = sq_read(&s, table + i * DESCRIPTOR_B, p, sizeof(p));
		if (rc != 0)
			return rc == -ENODATA ? found : rc;
		at = load_le64(p + OFFSET_AT);
		if (p[USED_AT] == 0 || load_le32(p) != PARTITION ||
		    load_le32(p + FS_AT) != SQUASH ||
		    sq_probe(fd, at) != 1)
			continue;
		/* the first, unless another has the system */
		if (!found || load_le32(p + PART_AT) == SYSTEM)
			*offset = at;
		found = true;
		if (load_le32(p + PART_AT) == SYSTEM)
			break;
	}
	return found;
}
