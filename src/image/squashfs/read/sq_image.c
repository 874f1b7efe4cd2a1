/*
 * sq_image.c - unpacking an image's tables with several threads
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

static int
unpack_tables(struct sq_tables *q, unsigned threads)
{
	struct unpacking u = { .q = q };
	size_t grains = (q->inodes.count + q->dirs.count) / GRAIN + 1;

	parallel_run(grains < threads ? (unsigned)grains : threads,
	    unpack_some, &u);
	sq_meta_free_raw(&q->inodes, &q->super);
	sq_meta_free_raw(&q->dirs, &q->super);
	return atomic_load(&u.err);
}

/* Unpacks one metadata block of the fragment table, at pos. */
static int
read_entries(struct sq_tables *q, uint64_t pos, struct sq_codec *c,
    struct sq_fragment_entry *f, size_t count)
{
	struct sq_meta t = { 0 };
	const uint8_t *p;
	int rc;

	rc = sq_meta_one(&t, &q->super, c, pos);
	if (rc == 0) {
		p = sq_meta_get(&t, 0, 0, 0);
		for (size_t i = 0; i < count && (i + 1) * SQUASHFS_FRAGMENT_B <= t.len[0];
		    i++)
			f[i] = (struct sq_fragment_entry){
			    .start = load_le64(p + i * SQUASHFS_FRAGMENT_B),
			    .size = load_le32(p + i * SQUASHFS_FRAGMENT_B + 8) };
	}
	sq_meta_free(&t, &q->super);
	return rc;
}

/* An unreadable fragment keeps a size of 0, which is invalid. */
static int
read_fragments(struct sq_tables *q, struct sq_codec *c)
{
	size_t count = q->super.fragment_count;
	int rc = 0;

	rc = image_take(q->super.memory, (count + 1) * sizeof(*q->fragments));
	if (rc != 0)
		return rc;
	q->fragments = sys_calloc(count + 1, sizeof(*q->fragments));
	if (q->fragments == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count && !image_no_memory(rc); i += ENTRIES) {
		size_t n = count - i < ENTRIES ? count - i : ENTRIES;
		uint8_t p[8];

		rc = sq_read(&q->super, q->super.fragments + i / ENTRIES * 8,
		    p, sizeof(p));
		if (rc != 0)
			break;
		rc = read_entries(q, load_le64(p), c, q->fragments + i, n);
	}
	return image_no_memory(rc) ? rc : 0;
}

int
sq_tables_read(struct sq_tables *q, struct sq_codec *c, unsigned threads,
    const char **why)
{
	int rc = sq_meta_read(&q->inodes, &q->super, q->super.inodes,
	    q->super.dirs, SIZE_MAX);

	if (rc != 0)
		goto out;
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
	if (rc == 0)
		rc = unpack_tables(q, threads);
out:
	if (rc == -ENODATA) {
		*why = "the file ends before the image's tables begin";
		rc = -EBADMSG;
	}
	if (rc == -EFBIG)
		*why = "the tables decompress to more than 512 MiB";
	return rc;
}
