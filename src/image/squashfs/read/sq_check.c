/*
 * sq_check.c - checking whether Linux would mount an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The id, xattr and export tables are not needed to read the files, but an
 * image cannot be mounted if one of these tables is damaged.  The rules are
 * those of the kernel's fs/squashfs (super.c, id.c, xattr_id.c, export.c and
 * fragment.c of Linux 6.18):
 *
 * 	inodes < directories < fragments < export < ids < xattrs
 *
 * Each table from the fragments onward consists of metadata blocks followed by
 * an index: a le64 with the position of each block.  The index ends at the
 * beginning of the first block of the next table or, for the last table, at the
 * end of the image.  Linux allows the fragment index to end earlier, but
 * unsquashfs does not.  Blocks are at most 8194 bytes apart, and so are the
 * last block and the index.
 *
 * The xattr table's index has a header: le64 position of the names and values,
 * le32 number of ids, le32 unused.
 */
#include "squashfs.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdio.h>

enum {
	BLOCK_B = SQUASHFS_META_B + 2, HEADER_B = 16,
	SOME = 512,			/* index entries read at a time */
	WHY_B = 160,
};

/* The table being checked. */
struct check {
	const struct sq_super *s;
	struct sq_codec *codec;
	image_report_fn *report;
	void *arg;
	int err;			/* result of report, or -ENOMEM; ends
					 * the check */
};

struct table {
	const char *name;
	uint64_t index;			/* position of the index */
	uint64_t items;
	uint32_t item_B;
	uint64_t next; /* position of the next table */
	bool may_end_before;
};

static int
complain(struct check *c, uint64_t at, const char *name, const char *what)
{
	char why[WHY_B];

	snprintf(why, sizeof(why), "the %s %s, so Linux would not mount the "
	    "image", name, what);
	c->err = c->report(c->arg, at, why);
	return -EBADMSG;
}

/* Reports what only unsquashfs checks when it opens the image. */
static int
complain_unsquashfs(struct check *c, uint64_t at, const char *what)
{
	char why[WHY_B];

	snprintf(why, sizeof(why), "the %s, so unsquashfs would not open the "
	    "image", what);
	c->err = c->report(c->arg, at, why);
	return -EBADMSG;
}

/*
 * Unpacks the block at pos, which must contain `want` bytes.  Linux unpacks
 * such blocks only when it needs them.
 */
static int
check_block(struct check *c, const char *name, uint64_t pos, uint64_t want)
{
	struct sq_meta m = { 0 };
	char why[WHY_B];
	int rc = sq_meta_one(&m, c->s, c->codec, pos);

	if (rc == 0 && m.len[0] < want)
		rc = -EBADMSG;
	sq_meta_free(&m, c->s);
	if (image_no_memory(rc))
		c->err = rc;
	if (rc == 0 || image_no_memory(rc))
		return rc;
	snprintf(why, sizeof(why), "a block of the %s does not decompress to "
	    "%llu bytes", name, (unsigned long long)want);
	c->err = c->report(c->arg, pos, why);
	return -EBADMSG;
}

/*
 * Checks the entries of the index, and the blocks to which they refer.  Sets
 * *next to the position of this table's first block, if the whole table is
 * valid.
 */
static int
check_table(struct check *c, const struct table *t, uint64_t *next)
{
	uint64_t left = t->items * t->item_B;
	uint64_t count = (left + SQUASHFS_META_B - 1) / SQUASHFS_META_B;
	uint64_t len = 8 * count, first = 0, before = 0;
	uint8_t p[8 * SOME];
	int rc;

	if (t->items == 0)
		return complain(c, t->index, t->name, "is empty");
	if (t->index > t->next || (t->may_end_before ?
	    len > t->next - t->index : len != t->next - t->index))
		return complain(c, t->index, t->name, t->may_end_before ?
		    "overlaps the next table" :
		    "does not end where the next table begins");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t some = count - i < SOME ? count - i : SOME, pos;

		if (i % SOME == 0 && sq_read(c->s, t->index + 8 * i, p,
		    (size_t)(8 * some)) != 0)
			return complain(c, t->index, t->name,
			    "has an unreadable index");
		pos = load_le64(p + 8 * (i % SOME));
		if (i == 0)
			first = pos;
		else if (pos <= before || pos - before > BLOCK_B)
			return complain(c, t->index, t->name,
			    "has blocks that are not contiguous");
		before = pos;
	}
	if (!t->may_end_before &&
	    (before >= t->index || t->index - before > BLOCK_B))
		return complain(c, t->index, t->name,
		    "does not end where its index begins");
	if (first >= t->index)
		return complain(c, t->index, t->name,
		    "begins after its index");
	if (len != t->next - t->index)
		return complain_unsquashfs(c, t->index, "fragment table does "
		    "not end where the next table begins");
	*next = first;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t want = left < SQUASHFS_META_B ? left : SQUASHFS_META_B;

		if (sq_read(c->s, t->index + 8 * i, p, 8) != 0)
			return complain(c, t->index, t->name,
			    "has an index that cannot be read");
		rc = check_block(c, t->name, load_le64(p), want);
		if (rc != 0)
			return rc;
		left -= want;
	}
	return 0;
}

/* Returns -ENOENT if there is none. */
static int
check_xattrs(struct check *c, struct sq_super *s, uint64_t *next)
{
	struct table t = { .name = "xattr table", .item_B = 16,
	    .index = s->xattrs + HEADER_B, .next = s->length };
	uint64_t values, first;
	uint8_t p[HEADER_B];
	int rc;

	if (s->xattrs == SQUASHFS_NO_TABLE)
		return -ENOENT;
	if (s->xattrs > s->length ||
	    sq_read(s, s->xattrs, p, sizeof(p)) != 0)
		return complain(c, s->xattrs, t.name, "cannot be read");
	values = load_le64(p);
	t.items = load_le32(p + 8);
	rc = check_table(c, &t, &first);
	if (rc != 0)
		return rc;
	if (values >= first)
		return complain(c, s->xattrs, t.name,
		    "stores its ids before its values");
	s->xattr_count = (uint32_t)t.items;
	s->xattrs_unused = load_le32(p + 12);
	*next = values;
	/* the blocks of names and values, which end at the xattr ids */
	while (values < first && c->err == 0) {
		if (sq_read(s, values, p, SQUASHFS_META_HEADER_B) != 0) {
			complain(c, values, t.name, "cannot be read");
			break;
		}
		if (check_block(c, t.name, values, 1) != 0)
			break;
		values += SQUASHFS_META_HEADER_B + (load_le16(p) & 0x7fff);
	}
	return 0;
}

/*
 * Checking stops at a damaged table, because the tables are checked from the
 * last to the first, and each one ends at the beginning of the next.
 */
static void
check_tables(struct check *c, struct sq_super *s)
{
	uint64_t next = s->length;
	struct table t = { .name = "id table", .index = s->ids,
	    .items = s->id_count, .item_B = SQUASHFS_ID_B };
	int rc = check_xattrs(c, s, &next);

	if (rc != 0 && rc != -ENOENT)
		return;
	t.next = next;
	if (check_table(c, &t, &next) != 0)
		return;
	s->ids_known = true;
	if (s->exports != SQUASHFS_NO_TABLE) {
		t = (struct table){ .name = "export table", .next = next,
		    .index = s->exports, .items = s->inode_count,
		    .item_B = SQUASHFS_EXPORT_B };
		if (check_table(c, &t, &next) != 0)
			return;
		s->exports_known = true;
	}
	if (s->fragment_count > 0) {
		t = (struct table){ .name = "fragment table", .next = next,
		    .index = s->fragments, .items = s->fragment_count,
		    .item_B = SQUASHFS_FRAGMENT_B,
		    .may_end_before = true };
		if (check_table(c, &t, &next) != 0)
			return;
	}
	if (s->dirs > next)		/* an image without names has no
					 * blocks */
		complain(c, s->dirs, "directory table", "does not precede the "
		    "tables that must follow it");
}

/*
 * Checks the options, which contain the version of the LZ4 format or the size
 * of the xz dictionary.
 */
static void
check_options(struct check *c)
{
	const struct sq_super *s = c->s;
	struct sq_meta m = { 0 };
	const char *bad = NULL;
	uint32_t first = 0, rest;
	size_t len = 0;
	int rc = 0;

	if ((s->flags & SQUASHFS_OPTIONS) != 0)
		rc = sq_meta_one(&m, s, c->codec, SQUASHFS_SUPER_B);
	if (rc == 0 && m.count > 0)
		len = m.len[0];
	if (len >= 8)
		first = load_le32(m.data);
	/* without its lowest bit; a size is 2^n, or 2^n + 2^(n+1) */
	rest = first & (first - 1);
	if (rc != 0 || (m.count > 0 && len == 0))
		bad = "cannot be read";
	else if (s->compressor == SQUASHFS_LZ4 && first != 1)
		bad = "specify an LZ4 format that Linux does not support";
	else if (s->compressor == SQUASHFS_XZ && len > 0 && len < 8)
		bad = "are too short";
	else if (s->compressor == SQUASHFS_XZ && len > 0 && (first == 0 ||
	    (rest & (rest - 1)) != 0 ||
	    (rest != 0 && rest != 2 * (first - rest))))
		bad = "specify an invalid xz dictionary size";
	sq_meta_free(&m, s);
	if (image_no_memory(rc))
		c->err = rc;
	else if (bad != NULL)
		complain(c, SQUASHFS_SUPER_B, "compressor options", bad);
}

int
sq_check(struct sq_super *s, struct sq_codec *codec, image_report_fn *report,
    void *arg)
{
	struct check c = { .s = s, .codec = codec, .report = report,
		.arg = arg };

	if (s->there < s->length) {
		char why[WHY_B];

		snprintf(why, sizeof(why), "the file ends here, but the image "
		    "ends at %llu, so Linux would not mount it",
		    (unsigned long long)s->length);
		c.err = report(arg, s->there, why);
	}
	if (c.err == 0 && s->streamed)
		c.err = report(arg, SQUASHFS_S_MAGIC, "the superblock is at "
		    "the end, so Linux would not mount it (mksquashfs -fix "
		    "moves it)");
	if ((s->flags & SQUASHFS_CHECK_BYTES) != 0)
		complain_unsquashfs(&c, SQUASHFS_S_FLAGS, "flags announce the "
		    "check bytes of an older format");
	if (c.err == 0)
		check_options(&c);
	if (c.err == 0)
		check_tables(&c, s);
	return c.err;
}
