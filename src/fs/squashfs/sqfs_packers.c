/*
 * sqfs_packers.c - sqpack's compressors
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Data blocks are compressed in the same steps as in sqpack, including the
 * quick test for incompressible data.  Metadata blocks, which have a different
 * size, are not.
 */
#include "sqfs.h"

#include "base/sys.h"
#include "image/squashfs/write/pack.h"
#include "image/squashfs/format.h"

struct state {
	struct sqw_data_options o;
	struct sqw_pack *pack;
	size_t room;
	uint8_t out[];
};

static void
close_state(void *state)
{
	struct state *s = state;

	if (s != NULL)
		sqw_pack_close(s->pack);
	sys_free(s);
}

static void *
open_state(const char *name, int level, size_t most)
{
	struct sqw_data_options o = { .method = sqw_method_by_name(name),
		.level = level, .block = (uint32_t)most };
	size_t room = sqw_pack_room(&o);
	struct state *s = sys_calloc(1, sizeof(*s) + room);

	if (s == NULL)
		return NULL;
	s->o = o;
	s->room = room;
	if (sqw_pack_open(&s->pack, &s->o) == 0)
		return s;
	close_state(s);
	return NULL;
}

/*
 * Compresses a block, with as much output space as sqpack provides: the size of
 * a metadata block, or more than the size of a data block.
 */
static size_t
pack_state(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	struct state *s = state;

	(void)out;	/* only the size is needed */
	return sqw_pack_block(s->pack, in, len, s->out,
	    s->o.block == SQUASHFS_META_B ? cap : s->room);
}

#define METHOD(method) \
static void * \
open_##method(const struct packer_name *name, size_t most) \
{ \
	return open_state(#method, name->level, most); \
}

METHOD(gzip)
METHOD(lz4)
METHOD(lz4hc)
METHOD(xz)
METHOD(zstd)
#ifdef COLDPRESS_LZO
METHOD(lzo)
#endif

const struct packer_kind sqfs_packers_sqpack[] = {
	{ "gzip", 1, 12, 9, open_gzip, close_state, pack_state },
	{ "lz4", 0, 0, 0, open_lz4, close_state, pack_state },
	{ "lz4hc", 0, 0, 0, open_lz4hc, close_state, pack_state },
#ifdef COLDPRESS_LZO
	{ "lzo", 1, 9, 8, open_lzo, close_state, pack_state },
#endif
	{ "xz", 0, 0, 0, open_xz, close_state, pack_state },
	{ "zstd", 1, 22, 15, open_zstd, close_state, pack_state },
	{ .name = NULL }
};
