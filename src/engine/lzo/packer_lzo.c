/*
 * packer_lzo.c - LZO compression for btrfs and squashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is a separate file because liblzo2 is licensed under the GPL.
 */
#include "engine/packer/packer_kinds.h"

#include "base/sys.h"
#include "engine/packer/packer.h"

#include <lzo/lzo1x.h>
#include <stdbool.h>
#include <string.h>

enum {
	PAGE = 4096,
	LENGTH = 4,			/* size of the length fields: total, and
					 * before each page */
	PAGE_MOST = PAGE + PAGE / 16 + 64 + 3
};

struct lzo {
	int level;
	size_t most;			/* maximum bytes in a block */
	uint8_t page[PAGE_MOST];
	lzo_align_t work[];
};

static void *
lzo_open(int level, size_t most, size_t work)
{
	struct lzo *z = lzo_init() != LZO_E_OK ? NULL :
	    sys_malloc(sizeof(*z) + work);

	if (z != NULL)
		*z = (struct lzo){ .level = level, .most = most };
	return z;
}

void *
packer_lzo_open(const struct packer_name *name, size_t most)
{
	return lzo_open(name->level, most, LZO1X_1_MEM_COMPRESS);
}

/*
 * Writes the total length, then for each page its length and compressed data.
 * A length never crosses a page boundary: zeros fill the rest.
 */
size_t
packer_lzo_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	struct lzo *z = state;
	size_t made = LENGTH;

	(void)out;
	for (size_t at = 0; at < len; at += PAGE) {
		size_t n = len - at < PAGE ? len - at : PAGE;
		lzo_uint packed = 0;

		if (PAGE - made % PAGE < LENGTH)
			made += PAGE - made % PAGE;
		lzo1x_1_compress(in + at, n, z->page, &packed, z->work);
		made += LENGTH + packed;
		if (made > cap || (at + n > 2 * PAGE && at + n < made))
			return 0;
	}
	return made;
}

/* Returns the maximum compressed size of `most` bytes. */
static size_t
most_made(size_t most)
{
	return most + most / 16 + 64 + 3;
}

void *
packer_lzo999_open(const struct packer_name *name, size_t most)
{
	return lzo_open(name->level, most, LZO1X_999_MEM_COMPRESS +
	    most_made(most) + most);
}

static size_t
lzo999_pack(struct lzo *z, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap, bool optimize)
{
	uint8_t *made = (uint8_t *)z->work + LZO1X_999_MEM_COMPRESS;
	uint8_t *again = made + most_made(z->most);
	lzo_uint packed = 0, unpacked = len;

	if (lzo1x_999_compress_level(in, len, made, &packed, z->work, NULL,
	    0, NULL, z->level) != LZO_E_OK || packed > cap || (optimize &&
	    lzo1x_optimize(made, packed, again, &unpacked, NULL) != LZO_E_OK))
		return 0;
	memcpy(out, made, packed);
	return packed;
}

/* Like mksquashfs, also passes the output through lzo1x_optimize(). */
size_t
packer_lzo999_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	return lzo999_pack(state, in, len, out, cap, true);
}

size_t
packer_lzo999_pack_plain(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	return lzo999_pack(state, in, len, out, cap, false);
}
