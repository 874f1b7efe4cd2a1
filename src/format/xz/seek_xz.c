/*
 * seek_xz.c - reading ranges of xz files, using their indexes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Some blocks of a stream become a separate stream, with a header and their own
 * index and footer.  liblzma verifies the decoded data against the index, and
 * against the check of each block.  Source: the .xz file format, 1.1.0.
 */
#include "format/seek_formats.h"

#include "base/sys.h"
#include "xz_index.h"

#include <errno.h>

static int
map_xz(struct seek_map *m)
{
	lzma_index *index = NULL;
	lzma_index_iter i;
	lzma_vli stream = 0;
	int rc = xz_read_index(m->look, &index);

	if (rc != 0)
		return rc;
	m->own = index;
	m->how = "blocks listed in the index";
	m->checked = (lzma_index_checks(index) & 1) == 0;
	lzma_index_iter_init(&i, index);
	while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_ANY)) {
		uint64_t frame = i.stream.compressed_offset;

		if (i.stream.number != stream) {
			rc = seek_add(m, (struct seek_unit){
			    i.stream.uncompressed_offset, frame, frame });
			if (rc != 0)
				return rc;
		}
		stream = i.stream.number;
		if (i.stream.block_count == 0)
			continue;
		rc = seek_add(m, (struct seek_unit){
		    i.block.uncompressed_file_offset,
		    i.block.compressed_file_offset, frame });
		if (rc != 0)
			return rc;
	}
	return seek_end(m, lzma_index_uncompressed_size(index), m->len);
}

static int
put_stream_header(struct seek_stream *s, const lzma_stream_flags *flags)
{
	uint8_t p[LZMA_STREAM_HEADER_SIZE];

	return lzma_stream_header_encode(flags, p) != LZMA_OK ? -EBADMSG :
	    seek_bytes(s, p, sizeof(p));
}

static int
put_stream_end(struct seek_stream *s, const lzma_index *index,
    lzma_stream_flags *flags)
{
	size_t len = (size_t)lzma_index_size(index), pos = 0;
	uint8_t foot[LZMA_STREAM_HEADER_SIZE], *p = sys_malloc(len);
	int rc = -EBADMSG;

	if (p == NULL)
		return -ENOMEM;
	flags->backward_size = len;
	if (lzma_index_buffer_encode(index, p, &pos, len) != LZMA_OK ||
	    lzma_stream_footer_encode(flags, foot) != LZMA_OK)
		goto out;
	rc = seek_bytes(s, p, pos);
	if (rc == 0)
		rc = seek_bytes(s, foot, sizeof(foot));
out:
	sys_free(p);
	return rc;
}

/* Adds the blocks from..to, and their index. */
static int
put_blocks(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s, lzma_index *index)
{
	lzma_index_iter i;
	int rc;

	lzma_index_iter_init(&i, m->own);
	if (lzma_index_iter_locate(&i, from->plain))
		return -EBADMSG;
	rc = put_stream_header(s, i.stream.flags);
	if (rc != 0)
		return rc;
	do {
		if (i.block.uncompressed_file_offset >= to->plain)
			break;
		rc = seek_extent(s, i.block.compressed_file_offset,
		    i.block.total_size);
		if (rc != 0)
			return rc;
		if (lzma_index_append(index, NULL, i.block.unpadded_size,
		    i.block.uncompressed_size) != LZMA_OK)
			return -ENOMEM;
	} while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_NONEMPTY_BLOCK));
	return 0;
}

static int
xz_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	lzma_index *index = lzma_index_init(NULL);
	lzma_stream_flags flags;
	lzma_index_iter i;
	int rc;

	if (index == NULL)
		return -ENOMEM;
	rc = put_blocks(m, from, to, s, index);
	if (rc == 0) {
		lzma_index_iter_init(&i, m->own);
		lzma_index_iter_locate(&i, from->plain);
		flags = *i.stream.flags;
		rc = put_stream_end(s, index, &flags);
	}
	lzma_index_end(index, NULL);
	return rc;
}

static void
close_map(struct seek_map *m)
{
	lzma_index_end(m->own, NULL);
}

const struct codec_seek xz_seek = { .map = map_xz, .part = xz_part,
    .close = close_map };
