/*
 * sq_source.c - squashfs as an image source and as a walk source
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdatomic.h>

enum {
	INODE_B = 16,			/* minimum */
	ENTRIES = SQUASHFS_META_B / SQUASHFS_FRAGMENT_B,
	GRAIN = 8,			/* blocks that a thread takes at a
					 * time */
};

struct unpacking {
	struct sq_tables *q;
	atomic_size_t next;
	atomic_int err;
};

/* Unpacks blocks of both tables, numbered consecutively. */
static void
unpack_some(void *arg, unsigned share)
{
	struct unpacking *u = arg;
	struct sq_meta *inodes = &u->q->inodes, *dirs = &u->q->dirs;
	size_t count = inodes->count + dirs->count, from;
	struct sq_codec *c;
	int rc = sq_codec_open(&c, u->q->super.compressor);

	(void)share;
	if (rc != 0) {
		atomic_store(&u->err, rc);
		return;
	}
	while ((from = atomic_fetch_add(&u->next, GRAIN)) < count)
		for (size_t i = from; i < from + GRAIN && i < count; i++)
			if (i < inodes->count)
				sq_meta_unpack(inodes, i, c);
			else
				sq_meta_unpack(dirs, i - inodes->count, c);
	sq_codec_close(c);
}

/* An unreadable fragment keeps a size of 0, which is invalid. */
static int
read_fragments(struct sq_tables *q, struct sq_codec *c)
{
	size_t count = q->super.fragment_count;
	int rc = image_take(q->super.memory, (count + 1) *
	    sizeof(*q->fragments));

	if (rc != 0)
		return rc;
	q->fragments = sys_calloc(count + 1, sizeof(*q->fragments));
	if (q->fragments == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count && !image_no_memory(rc); i += ENTRIES) {
		size_t most = count - i < ENTRIES ? count - i : ENTRIES;
		struct sq_meta t = { 0 };
		uint8_t p[SQUASHFS_POINTER_B];

		rc = sq_read(&q->super, q->super.fragments + i / ENTRIES *
		    sizeof(p), p, sizeof(p));
		if (rc != 0)
			break;
		rc = sq_meta_one(&t, &q->super, c, load_le64(p));
		for (size_t k = 0; rc == 0 && k < most &&
		    (k + 1) * SQUASHFS_FRAGMENT_B <= t.len[0]; k++) {
			const uint8_t *e = t.data + k * SQUASHFS_FRAGMENT_B;

			q->fragments[i + k] = (struct sq_fragment_entry){
			    .start = load_le64(e), .size = load_le32(e + 8) };
		}
		sq_meta_free(&t, &q->super);
	}
	return image_no_memory(rc) ? rc : 0;
}

/* Reads and unpacks the tables of an image whose superblock has been read. */
static int
read_tables(struct sq_tables *q, struct sq_codec *c, unsigned threads,
    const char **why)
{
	struct unpacking u = { .q = q };
	size_t grains;
	int rc = sq_meta_read(&q->inodes, &q->super, q->super.inodes,
	    q->super.dirs, SIZE_MAX);

	if (rc == 0)
		rc = sq_meta_read(&q->dirs, &q->super, q->super.dirs,
		    q->super.dirs_end, SIZE_MAX);
	if (rc != 0)
		goto out;
	if (q->inodes.count == 0) {
		*why = "no block of the inode table can be found";
		return -EBADMSG;
	}
	if (q->super.fragment_count > q->inodes.count *
	    (SQUASHFS_META_B / INODE_B)) {
		*why = "there are more fragment blocks than files";
		return -EBADMSG;
	}
	rc = read_fragments(q, c);
	if (rc != 0)
		goto out;
	grains = (q->inodes.count + q->dirs.count) / GRAIN + 1;
	parallel_run(grains < threads ? (unsigned)grains : threads,
	    unpack_some, &u);
	sq_meta_free_raw(&q->inodes, &q->super);
	sq_meta_free_raw(&q->dirs, &q->super);
	rc = atomic_load(&u.err);
out:
	if (rc == -ENODATA) {
		*why = "the file ends before the image's tables begin";
		rc = -EBADMSG;
	}
	if (rc == -EFBIG)
		*why = "the tables decompress to more than 512 MiB";
	return rc;
}

static int
open_image(struct image *m, unsigned threads, image_report_fn *report,
    void *arg, const char **why)
{
	struct sq_tables *q = sys_calloc(1, sizeof(*q));
	struct sq_codec *c = NULL;
	int rc;

	if (q == NULL)
		return -ENOMEM;
	m->own = q;
	q->super.memory = m->memory;
	rc = sq_super_read(&q->super, m->fd, m->offset, why);
	if (rc == 0 && m->verity_root != NULL)
		rc = verity_open(&m->verity, m->fd, m->offset,
		    q->super.length + -q->super.length % VERITY_BLOCK_B,
		    m->verity_root, why);
	if (rc == 0 && m->verity != NULL) {
		/* once more, verified */
		q->super.verity = m->verity;
		rc = sq_super_read(&q->super, m->fd, m->offset, why);
		if (rc == -EBADMSG)
			*why = "the superblock does not match the hash tree";
	}
	if (rc != 0)
		return rc;
	m->length = q->super.length;
	m->block_B = q->super.block;
	m->fragment_count = q->super.fragment_count;
	rc = sq_codec_open(&c, q->super.compressor);
	if (rc == -ENOTSUP)
		*why = "this build does not support the image's compressor";
	if (rc != 0)
		return rc;
	rc = read_tables(q, c, threads, why);
	if (rc != 0)
		goto out;
	rc = sq_check(&q->super, c, report, arg);
	if (rc != 0)
		goto out;
	rc = sq_xattrs_read(q, c, report, arg);
	if (rc != 0)
		goto out;
	rc = sq_tree_read(q, m, c, report, arg, why);
out:
	sq_codec_close(c);
	return rc;
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
