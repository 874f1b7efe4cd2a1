/*
 * sq_image.c - an image's tables, unpacked by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <stdatomic.h>

enum {
	ENTRY_B = 16,
	INODE_B = 16,			/* at least */
	ENTRIES = SQ_META_B / ENTRY_B,	/* fragments in a metadata block */
	GRAIN = 8,			/* blocks that a thread takes at once */
};

struct unpacking {
	struct sq_image *m;
	atomic_size_t next;
	atomic_int err;
};

/* Blocks of the two tables, as if they were one. */
static void
unpack_some(void *arg, unsigned share)
{
	struct unpacking *u = arg;
	struct sq_meta *inodes = &u->m->inodes, *dirs = &u->m->dirs;
	size_t count = inodes->count + dirs->count, from;
	struct sq_codec *c;
	int rc = sq_codec_open(&c, u->m->super.compressor);

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
unpack_tables(struct sq_image *m, unsigned threads)
{
	struct unpacking u = { .m = m };
	size_t grains = (m->inodes.count + m->dirs.count) / GRAIN + 1;

	parallel_run(grains < threads ? (unsigned)grains : threads,
	    unpack_some, &u);
	sq_meta_free_raw(&m->inodes, &m->super);
	sq_meta_free_raw(&m->dirs, &m->super);
	return atomic_load(&u.err);
}

/* One metadata block of the fragment table, which is at pos. */
static int
read_entries(struct sq_image *m, uint64_t pos, struct sq_codec *c,
    struct sq_fragment *f, size_t count)
{
	struct sq_meta t = { 0 };
	const uint8_t *p;
	int rc;

	if (pos > m->super.length)
		return -EBADMSG;
	rc = sq_meta_read(&t, &m->super, pos, pos + 2 + SQ_META_B, 1);
	if (rc == 0 && t.count == 0)
		rc = -EBADMSG;
	if (rc == 0) {
		sq_meta_unpack(&t, 0, c);
		p = sq_meta_get(&t, 0, 0, 0);
		for (size_t i = 0; i < count && (i + 1) * ENTRY_B <= t.len[0];
		    i++)
			f[i] = (struct sq_fragment){
			    .start = load_le64(p + i * ENTRY_B),
			    .size = load_le32(p + i * ENTRY_B + 8) };
	}
	sq_meta_free(&t, &m->super);
	return rc;
}

/* What cannot be read stays a fragment of no bytes, which is none. */
static int
read_fragments(struct sq_image *m, struct sq_codec *c)
{
	size_t count = m->super.fragment_count;
	int rc = 0;

	rc = sq_take(&m->super, (count + 1) * sizeof(*m->fragments));
	if (rc != 0)
		return rc;
	m->fragments = sys_calloc(count + 1, sizeof(*m->fragments));
	if (m->fragments == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count && rc != -ENOMEM; i += ENTRIES) {
		size_t n = count - i < ENTRIES ? count - i : ENTRIES;
		uint8_t p[8];

		rc = sq_read(&m->super, m->super.fragments + i / ENTRIES * 8,
		    p, sizeof(p));
		if (rc != 0)
			break;
		rc = read_entries(m, load_le64(p), c, m->fragments + i, n);
	}
	return rc == -ENOMEM ? rc : 0;
}

int
sq_image_open(struct sq_image *m, int fd, uint64_t offset, unsigned threads,
    const char **why)
{
	struct sq_codec *c = NULL;
	int rc;

	rc = sq_super_read(&m->super, fd, offset, why);
	if (rc != 0)
		return rc;
	rc = sq_codec_open(&c, m->super.compressor);
	if (rc == -ENOTSUP)
		*why = "its compressor is not in this build";
	if (rc == 0)
		rc = sq_meta_read(&m->inodes, &m->super, m->super.inodes,
		    m->super.dirs, SIZE_MAX);
	if (rc == 0)
		rc = sq_meta_read(&m->dirs, &m->super, m->super.dirs,
		    m->super.dirs_end, SIZE_MAX);
	if (rc == 0 && m->inodes.count == 0) {
		*why = "no block of its inode table can be found";
		rc = -EBADMSG;
	}
	if (rc == 0 && m->super.fragment_count > m->inodes.count *
	    (SQ_META_B / INODE_B)) {
		*why = "it has more fragment blocks than files";
		rc = -EBADMSG;
	}
	if (rc == 0)
		rc = read_fragments(m, c);
	sq_codec_close(c);
	if (rc == 0)
		rc = unpack_tables(m, threads);
	if (rc == -ENODATA) {
		*why = "the file ends before the image's tables begin";
		rc = -EBADMSG;
	}
	if (rc == -EFBIG)
		*why = "its tables unpack to more than 512 MiB";
	return rc;
}

void
sq_image_close(struct sq_image *m)
{
	sq_meta_free(&m->inodes, &m->super);
	sq_meta_free(&m->dirs, &m->super);
	sys_free(m->fragments);
	sys_free(m->dir);
	sys_free(m->file);
	sys_free(m->refs);
}
