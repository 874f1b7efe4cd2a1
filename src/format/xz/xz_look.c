/*
 * xz_look.c - the index of an .xz file: listing, and reading ranges
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every stream of an xz file ends with an index; liblzma reads the indexes from
 * the last to the first.  To read a range, some blocks of a stream become a
 * separate stream, with a header and their own index and footer.  The decoded
 * data is verified against the index, and against the check of each block.
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "xz_impl.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/list.h"
#include "format/seek_formats.h"

#include <errno.h>
#include <string.h>

/* Enough for indexes of about 8 million blocks. */
#define INDEX_MEMORY ((uint64_t)128 << 20)

static const struct xz_check {
	lzma_check check;
	const char *option, *name;
} xz_checks[] = {
	{ LZMA_CHECK_NONE, "none", "none" },
	{ LZMA_CHECK_CRC32, "crc32", "CRC-32" },
	{ LZMA_CHECK_CRC64, "crc64", "CRC-64" },
	{ LZMA_CHECK_SHA256, "sha256", "SHA-256" },
	{ 0, NULL, NULL }
};

bool
xz_check_asked(const struct codec_options *o, lzma_check *check)
{
	const char *asked = codec_text(o, "check");
	const struct xz_check *c = xz_checks;

	*check = LZMA_CHECK_CRC64;
	if (asked == NULL)
		return true;
	while (c->option != NULL && strcmp(asked, c->option) != 0)
		c++;
	*check = c->check;
	return c->option != NULL;
}

/*
 * Reads the combined index of a file's streams, to be freed with
 * lzma_index_end().  Returns 0, -EBADMSG, -ENODATA, -EFBIG (needs more than 128
 * MiB) or -errno.
 */
static int
xz_read_index(struct look *look, lzma_index **index)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret r = lzma_file_info_decoder(&z, index, INDEX_MEMORY,
	    look->len);
	const uint8_t *p;
	uint64_t at = 0;
	ssize_t n = 0;

	while (r == LZMA_OK || r == LZMA_SEEK_NEEDED) {
		if (r == LZMA_SEEK_NEEDED) {
			at = z.seek_pos;
			z.avail_in = 0;
		}
		if (z.avail_in == 0) {
			n = look_at(look, at, LOOK_STEP, &p);
			if (n <= 0)
				break;
			z.next_in = p;
			z.avail_in = (size_t)n;
			at += (uint64_t)n;
		}
		r = lzma_code(&z, LZMA_RUN);
	}
	lzma_end(&z);
	if (n < 0)
		return (int)n;
	return r == LZMA_OK || r == LZMA_SEEK_NEEDED ? -ENODATA : xz_error(r);
}

int
xz_index(int fd, uint64_t len, lzma_index **index)
{
	struct look *look = look_open(fd, len);
	int rc = look == NULL ? -ENOMEM : xz_read_index(look, index);

	look_close(look);
	return rc;
}

int
xz_list(int fd, uint64_t len, struct codec_listing *l)
{
	lzma_index *index = NULL;
	uint32_t checks;
	int rc = xz_index(fd, len, &index);

	if (rc != 0)
		return rc;
	checks = lzma_index_checks(index);
	l->check = checks & (checks - 1) ? "mixed" : "unknown";
	for (const struct xz_check *c = xz_checks; c->name != NULL; c++)
		if (checks == (uint32_t)1 << c->check)
			l->check = c->name;
	l->frames = lzma_index_stream_count(index);
	l->has_size = l->exact = true;
	list_add(l, lzma_index_uncompressed_size(index));
	lzma_index_end(index, NULL);
	return 0;
}

/*
 * Reads the size, which is in the header unless the stream ends with a marker.
 */
int
lzma_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	const uint8_t *p;
	ssize_t n;

	if (look == NULL)
		return -ENOMEM;
	n = look_at(look, 0, 13, &p);
	if (n == 13 && load_le64(p + 5) != UINT64_MAX) {
		l->has_size = l->exact = true;
		list_add(l, load_le64(p + 5));
	}
	l->frames = 1;
	look_close(look);
	return n < 0 ? (int)n : n < 13 ? -ENODATA : 0;
}

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

/* Adds the blocks from..to as a stream. */
static int
xz_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	lzma_index *index = lzma_index_init(NULL);
	uint8_t edge[LZMA_STREAM_HEADER_SIZE], *p = NULL;
	size_t len, pos = 0;
	lzma_stream_flags flags;
	lzma_index_iter i;
	int rc = -EBADMSG;

	if (index == NULL)
		return -ENOMEM;
	lzma_index_iter_init(&i, m->own);
	if (lzma_index_iter_locate(&i, from->plain))
		goto out;
	flags = *i.stream.flags;
	if (lzma_stream_header_encode(&flags, edge) != LZMA_OK)
		goto out;
	rc = seek_bytes(s, edge, sizeof(edge));
	if (rc != 0)
		goto out;
	do {
		if (i.block.uncompressed_file_offset >= to->plain)
			break;
		rc = seek_extent(s, i.block.compressed_file_offset,
		    i.block.total_size);
		if (rc != 0)
			goto out;
		rc = -ENOMEM;
		if (lzma_index_append(index, NULL, i.block.unpadded_size,
		    i.block.uncompressed_size) != LZMA_OK)
			goto out;
	} while (!lzma_index_iter_next(&i, LZMA_INDEX_ITER_NONEMPTY_BLOCK));

	rc = -ENOMEM;
	len = (size_t)lzma_index_size(index);
	p = sys_malloc(len);
	if (p == NULL)
		goto out;
	rc = -EBADMSG;
	flags.backward_size = len;
	if (lzma_index_buffer_encode(index, p, &pos, len) != LZMA_OK ||
	    lzma_stream_footer_encode(&flags, edge) != LZMA_OK)
		goto out;
	rc = seek_bytes(s, p, pos);
	if (rc == 0)
		rc = seek_bytes(s, edge, sizeof(edge));
out:
	sys_free(p);
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
