/*
 * sq_source.c - squashfs as an image source and as a walk source
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>

static int
read_squashfs(struct sq_tables *q, struct image *m, unsigned threads,
    image_report_fn *report, void *arg, const char **why)
{
	struct sq_numbers numbers = { 0 };
	struct sq_codec *c = NULL;
	int rc = sq_codec_open(&c, q->super.compressor);

	if (rc != 0) {
		if (rc == -ENOTSUP)
			*why = "this build does not support the image's "
			    "compressor";
		goto out;
	}
	rc = sq_tables_read(q, c, threads, why);
	if (rc != 0)
		goto out;
	rc = sq_check(&q->super, c, report, arg);
	if (rc != 0)
		goto out;
	rc = sq_xattrs_read(q, c, report, arg);
	if (rc != 0)
		goto out;
	rc = sq_numbers_open(&numbers, q, report, arg);
	if (rc != 0)
		goto out;
	rc = sq_tree_read(q, m, &numbers, why);
	if (rc != 0)
		goto out;
	rc = sq_numbers_check(&numbers, q, c, report, arg);
out:
	sq_numbers_close(&numbers, q);
	sq_codec_close(c);
	return rc;
}

static int
open_image(struct image *m, unsigned threads, image_report_fn *report,
    void *arg, const char **why)
{
	struct sq_tables *q = sys_calloc(1, sizeof(*q));
	int rc;

	if (q == NULL)
		return -ENOMEM;
	m->own = q;
	q->super.memory = m->memory;
	rc = sq_super_read(&q->super, m->fd, m->offset, why);
	if (rc != 0)
		return rc;
	m->length = q->super.length;
	m->block_B = q->super.block;
	m->fragment_count = q->super.fragment_count;
	return read_squashfs(q, m, threads, report, arg, why);
}

static void
close_image(struct image *m)
{
	struct sq_tables *q = m->own;

	if (q == NULL)
		return;
	sq_meta_free(&q->inodes, &q->super);
	sq_meta_free(&q->dirs, &q->super);
	sq_meta_free(&q->xattr_sets, &q->super);
	sq_meta_free(&q->xattr_values, &q->super);
	sys_free(q->super.bad_sets);
	sys_free(q->fragments);
	sys_free(q->links);
	sys_free(q);
}

image_word
sq_split_word(uint32_t size)
{
	image_word word = size & (SQUASHFS_BLOCK_RAW - 1);

	if ((size & SQUASHFS_BLOCK_RAW) != 0)
		word |= IMAGE_RAW;
	return size < 2 * SQUASHFS_BLOCK_RAW ? word : word | IMAGE_BAD;
}

static image_word
block(const struct image *m, const struct image_file *f, uint32_t k,
    uint64_t *at)
{
	(void)m;
	(void)at;
	return sq_split_word(load_le32(f->map + 4 * (size_t)k));
}

static image_word
fragment(const struct image *m, uint32_t index, uint64_t *at)
{
	const struct sq_tables *q = m->own;

	*at = q->fragments[index].start;
	return sq_split_word(q->fragments[index].size);
}

static int
open_decoder(const struct image *m, void **decoder)
{
	const struct sq_tables *q = m->own;
	struct sq_codec *c = NULL;
	int rc = sq_codec_open(&c, q->super.compressor);

	*decoder = c;
	return rc;
}

static void
close_decoder(void *decoder)
{
	sq_codec_close(decoder);
}

static int64_t
unpack_block(void *decoder, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	return sq_codec_unpack(decoder, in, len, out, cap);
}

static uint64_t
where(const struct image *m, uint64_t ref)
{
	const struct sq_tables *q = m->own;

	return q->super.inodes + (ref >> 16);
}

const struct image_source sq_image_source = { .name = "squashfs",
    .open = open_image, .close = close_image, .flaw = sq_flaw_text,
    .where = where,
    .block = block, .fragment = fragment, .decoder_open = open_decoder,
    .decoder_close = close_decoder, .unpack = unpack_block };

static int
walk_image(int fd, uint64_t offset, const struct walk_options *o,
    struct walk_result *r, const char **why)
{
	return image_walk(&sq_image_source, fd, offset, o, r, why);
}

const struct walk_source walk_squashfs = { .name = "squashfs",
    .probe = sq_probe, .find = sq_find_appended, .walk = walk_image };
