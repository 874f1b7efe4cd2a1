/*
 * sq_tree.c - reading an image's names
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listing consists of headers of three le32 (entries less one, inode block,
 * inode number), each followed by its entries: le16 offset, number, type,
 * length less one, and the name.  The recorded size is three bytes larger.
 *
 * Directories are processed in the order in which they are found, without
 * recursion.  A directory that contains itself would be read forever, but in a
 * valid image no byte of the directory table belongs to two listings, so the
 * total size of the listings that are read is limited to that of the table.
 * Likewise, no two inodes share block lists, so the total size of the lists is
 * limited to that of the inode table; an inode with many names is read once.
 *
 * Linux ends a search at the first name whose first byte is greater, so the
 * names must be sorted; they must also differ.  A long directory's inode ends
 * with an index of some of the headers: le32 position in the listing, le32
 * block, le32 length less one, and a name.  The search begins at the last of
 * these headers whose name is not greater, so the index must be in step with
 * the listing.
 *
 * Linux looks an inode up by the number in the directory entry before it reads
 * it, and unsquashfs links names of the same number.  If two inodes have one
 * number, the second is therefore replaced by the first.  NFS finds inodes by
 * number in the export table: a le64 reference for each number, from 1 onward.
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	LINKS_MIN = 256,
	INODE_B = 16,			/* minimum */
	EXPORTS = SQUASHFS_META_B / SQUASHFS_EXPORT_B, WHY_B = 160
};

/* The tree being read. */
struct reading {
	struct sq_tables *q;
	struct image *m;
	uint64_t *refs;			/* the inodes met so far, by number:
					 * reference + 1; 0: none */
	uint32_t numbers;		/* the highest number */
	uint64_t listed;		/* total size of the listings read so
					 * far */
};

/*
 * Returns the flaw in a file's inode that concerns its data; its other flaw if
 * there is none.
 */
static unsigned
check_data(const struct reading *t, const struct image_file *f)
{
	const struct sq_super *s = &t->q->super;
	size_t tail = image_tail_len(t->m, f);
	const struct sq_fragment_entry *g;
	uint64_t end = f->start;
	uint32_t stored;

	for (uint32_t i = 0; i < f->blocks; i++) {
		uint32_t word = load_le32(f->map + 4 * (size_t)i);

		stored = word & (SQUASHFS_BLOCK_RAW - 1);
		if (word >= 2 * SQUASHFS_BLOCK_RAW || stored > s->block)
			return SQ_BAD_BLOCK;
		if (word != 0 && (end > s->length || stored > s->length - end))
			return SQ_OUTSIDE;
		end += stored;
	}
	if (f->fragment == IMAGE_NONE)
		return f->flaw;
	if (f->fragment >= s->fragment_count)
		return SQ_BAD_FRAGMENT;
	if (f->tail_at > s->block || tail > s->block - f->tail_at)
		return SQ_BAD_TAIL;
	if (tail == 0)
		return f->flaw;
	g = &t->q->fragments[f->fragment];
	stored = g->size & (SQUASHFS_BLOCK_RAW - 1);
	if (g->start == 0)
		return SQ_LOST_FRAGMENT;
	if (g->size >= 2 * SQUASHFS_BLOCK_RAW || stored == 0 ||
	    stored > s->block)
		return SQ_BAD_BLOCK;
	if (g->start > s->length || stored > s->length - g->start)
		return SQ_OUTSIDE;
	return f->flaw;
}

/* Returns the slot in links for the file with the given inode. */
static size_t
find_link(const struct reading *t, uint64_t ref)
{
	const struct sq_tables *q = t->q;
	size_t last = q->link_cap - 1;
	size_t i = (size_t)(ref * 0x9e3779b97f4a7c15U >> 32) & last;

	while (q->links[i] != 0 && t->m->file[q->links[i]].ref != ref)
		i = (i + 1) & last;
	return i;
}

/* Adds the blocks of a file to the total, unless its inode is already known. */
static int
know_blocks(struct reading *t, struct image_file *f)
{
	struct sq_tables *q = t->q;
	uint32_t *old = q->links, *more;
	size_t old_cap = q->link_cap, i;
	size_t cap = old_cap == 0 ? LINKS_MIN : 2 * old_cap;

	/* half of the table remains free */
	if (2 * q->link_count >= old_cap) {
		if (image_take(t->m->memory,
		    (cap - old_cap) * sizeof(*more)) != 0)
			return -EDQUOT;
		more = sys_calloc(cap, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		q->links = more;
		q->link_cap = cap;
		for (i = 0; i < old_cap; i++)
			if (old[i] != 0)
				more[find_link(t, t->m->file[old[i]].ref)] =
				    old[i];
		sys_free(old);
	}
	i = find_link(t, f->ref);
	f->hardlink_of = q->links[i];
	if (f->hardlink_of != 0) {
		const struct image_file *g = &t->m->file[f->hardlink_of];

		if (f->flaw == SQ_GOOD ||
		    (g->flaw != SQ_GOOD && g->flaw < SQ_REFUSED))
			f->flaw = g->flaw;
		return 0;
	}
	q->links[i] = (uint32_t)t->m->file_count;
	q->link_count++;
	q->blocks += f->blocks;
	if (q->blocks > q->inodes.count * (uint64_t)(SQUASHFS_META_B / 4))
		return -EBADMSG;
	f->flaw = (uint8_t)check_data(t, f);
	return 0;
}

enum number { NUMBER_NEW, NUMBER_AGAIN, NUMBER_TAKEN };

/* Notes that the inode at ref has this number. */
static enum number
note_number(struct reading *t, uint32_t number, uint64_t ref)
{
	if (number == 0 || number > t->numbers)
		return NUMBER_NEW;
	if (t->refs[number] == 0) {
		t->refs[number] = ref + 1;
		return NUMBER_NEW;
	}
	return t->refs[number] == ref + 1 ? NUMBER_AGAIN : NUMBER_TAKEN;
}

/* A directory entry. */
struct entry {
	const uint8_t *name;
	uint16_t len;
	uint16_t type;
	uint32_t number;
	uint64_t ref;
};

/*
 * Returns the first flaw of the inode and of the entry that refers to it,
 * without regard to the data.
 */
static unsigned
check_entry(struct reading *t, const struct entry *e,
    const struct sq_inode *n)
{
	enum number known = note_number(t, n->number, e->ref);

	if (n->type == SQUASHFS_DIR && known == NUMBER_AGAIN)
		return SQ_TWO_PARENTS;
	if (n->flaw != SQ_GOOD)
		return n->flaw;
	if (n->type != e->type)
		return SQ_BAD_TYPE;
	if (known == NUMBER_TAKEN)
		return SQ_SHARED_NUMBER;
	return n->number != e->number ? SQ_OTHER_NUMBER : SQ_GOOD;
}

static int
enter_file(struct reading *t, uint32_t dir, const struct entry *e)
{
	struct image_file f = { .name = e->name, .name_len = e->len,
		.dir = dir, .ref = e->ref };
	struct sq_inode n;
	int rc = 0;

	f.type = WALK_OTHER;
	f.fragment = IMAGE_NONE;
	if (sq_inode_get(&t->q->inodes, &t->q->super, f.ref, &n) != 0) {
		f.flaw = SQ_BAD_INODE;
		goto add;
	}
	if (n.type == SQUASHFS_DIR) {
		f.flaw = SQ_BAD_DIR;
		goto add;
	}
	f.flaw = (uint8_t)check_entry(t, e, &n);
	if (n.type == SQUASHFS_LINK)
		f.type = WALK_LINK;
	if (n.type != SQUASHFS_FILE)
		goto add;
	f.type = WALK_FILE;
	f.size = n.size;
	f.start = n.start;
	f.map = n.sizes;
	f.blocks = n.blocks;
	f.fragment = n.fragment;
	f.tail_at = n.tail_at;
	if (f.blocks > 0)
		rc = know_blocks(t, &f);
	else if (f.size > 0)
		f.flaw = (uint8_t)check_data(t, &f);
add:
	f.unreadable = f.flaw != SQ_GOOD && f.flaw < SQ_REFUSED;
	return rc != 0 ? rc : image_add_file(t->m, &f);
}

/* Adds a directory, which enter_dir() reads later unless it is lost. */
static int
enter_subdir(struct reading *t, uint32_t dir, const struct entry *e)
{
	struct image_dir d = { .name = e->name, .name_len = e->len,
		.parent = dir, .ref = e->ref };
	struct sq_inode n;
	unsigned flaw;

	if (sq_inode_get(&t->q->inodes, &t->q->super, e->ref, &n) == 0 &&
	    n.type == SQUASHFS_DIR) {
		flaw = check_entry(t, e, &n);
		d.lost = flaw == SQ_TWO_PARENTS;
		d.damage = flaw == SQ_GOOD ? NULL : sq_flaw_text(flaw);
	}
	return image_add_dir(t->m, &d);
}

/* A listing that is being read. */
struct list {
	const uint8_t *from, *p, *end;	/* p: not read from here on */
	uint32_t dir;			/* index */
	struct entry last;		/* the entry before p; len 0: none */
	/* the part of its index that has not been met */
	const uint8_t *index;
	size_t index_B;
	uint32_t indexes;
	const char *wrong;		/* a reason, although all names were
					 * read */
};

static int
compare_names(const uint8_t *s, size_t len, const struct entry *e)
{
	int order = memcmp(s, e->name, len < e->len ? len : e->len);

	if (order != 0)
		return order;
	return len < e->len ? -1 : len > e->len;
}

/*
 * Moves on in the index if its next entry is for the header at `head`, which is
 * followed by e and is in step with it.
 */
static void
check_index(const struct reading *t, struct list *l, const uint8_t *head,
    const struct entry *e)
{
	const uint8_t *p = l->index;
	size_t len;

	if (l->indexes == 0 || l->index_B < SQUASHFS_INDEX_B ||
	    load_le32(p) != (size_t)(head - l->from))
		return;
	len = load_le32(p + 8) + (size_t)1;
	if (len > SQUASHFS_NAME_MAX || len > l->index_B - SQUASHFS_INDEX_B ||
	    load_le32(p + 4) != sq_meta_block(&t->q->dirs, head) ||
	    compare_names(p + SQUASHFS_INDEX_B, len, e) > 0 ||
	    (l->last.len > 0 &&
	    compare_names(p + SQUASHFS_INDEX_B, len, &l->last) <= 0))
		return;
	l->index += SQUASHFS_INDEX_B + len;
	l->index_B -= SQUASHFS_INDEX_B + len;
	l->indexes--;
}

/*
 * Reads the entries of the header at head.  Returns 0, 1 (the listing is
 * damaged) or -errno.
 */
static int
enter_some(struct reading *t, struct list *l, const uint8_t *head,
    uint32_t count)
{
	const uint64_t inodes = load_le32(head + 4);

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *p = l->p, *name = p + SQUASHFS_ENTRY_B;
		struct entry e;
		size_t len;
		int order = 1, rc;

		if (l->end - p < SQUASHFS_ENTRY_B)
			return 1;
		len = load_le16(p + 6) + (size_t)1;
		if ((size_t)(l->end - name) < len || len > SQUASHFS_NAME_MAX ||
		    memchr(name, '/', len) != NULL ||
		    memchr(name, '\0', len) != NULL || (name[0] == '.' &&
		    (len == 1 || (len == 2 && name[1] == '.'))))
			return 1;
		e = (struct entry){ .name = name, .len = (uint16_t)len,
			.type = load_le16(p + 4),
			.number = load_le32(head + 8) +
			    (uint32_t)(int16_t)load_le16(p + 2),
			.ref = inodes << 16 | load_le16(p) };
		if (i == 0)
			check_index(t, l, head, &e);
		if (l->last.len > 0)
			order = compare_names(e.name, e.len, &l->last);
		if (order < 0)
			l->wrong = "the names are not sorted, so Linux would "
			    "not find all of them";
		else if (order == 0 && l->wrong == NULL)
			l->wrong = "two entries have the same name";
		l->last = e;
		if (e.type == SQUASHFS_DIR ||
		    e.type == SQUASHFS_DIR + SQUASHFS_LONG)
			rc = enter_subdir(t, l->dir, &e);
		else
			rc = enter_file(t, l->dir, &e);
		if (rc != 0)
			return rc;
		l->p = name + len;
	}
	return 0;
}

/* Notes damage to a directory; the loss of names outweighs other damage. */
static void
blame(struct reading *t, uint32_t dir, const char *why, bool lost)
{
	struct image_dir *d = &t->m->dir[dir];

	if (d->damage == NULL || (lost && !d->lost))
		d->damage = why;
	d->lost = d->lost || lost;
}

/* Reads the entries of directory i. */
static int
enter_dir(struct reading *t, uint32_t i)
{
	const struct sq_meta *inodes = &t->q->inodes, *dirs = &t->q->dirs;
	uint64_t ref = t->m->dir[i].ref;
	struct list l = { .dir = i };
	struct sq_inode n;
	size_t size = 0;
	int rc = 0;

	if (sq_inode_get(inodes, &t->q->super, ref, &n) != 0 ||
	    n.type != SQUASHFS_DIR) {
		blame(t, i, "the inode cannot be read", true);
		return 0;
	}
	l.indexes = n.indexes;
	if (n.size > SQUASHFS_LISTING_EXTRA) {
		size = (size_t)n.size - SQUASHFS_LISTING_EXTRA;
		l.p = sq_meta_get(dirs, n.dir_block, n.dir_offset, size);
		if (l.p == NULL) {
			blame(t, i, "the directory listing cannot be read",
			    true);
			return 0;
		}
		l.from = l.p;
		l.end = l.p + size;
		t->listed += size;
		if (t->listed > dirs->count * (uint64_t)SQUASHFS_META_B)
			return -ELOOP;
	}
	/* no more than the headers that the listing has room for */
	if (l.indexes > 0 && l.indexes <= size / SQUASHFS_LISTING_HEAD_B)
		l.index = sq_inode_index(inodes, ref, l.indexes *
		    (size_t)(SQUASHFS_INDEX_B + SQUASHFS_NAME_MAX),
		    &l.index_B);
	while (rc == 0 && l.p < l.end) {
		const uint8_t *head = l.p;
		uint64_t count = 0;

		if (l.end - head >= SQUASHFS_LISTING_HEAD_B)
			count = load_le32(head) + (uint64_t)1;
		if (count == 0 || count > SQUASHFS_LISTING_RUN) {
			rc = 1;
			break;
		}
		l.p += SQUASHFS_LISTING_HEAD_B;
		rc = enter_some(t, &l, head, (uint32_t)count);
	}
	if (rc < 0)
		return rc;
	if (rc == 0 && l.indexes > 0 && l.wrong == NULL)
		l.wrong = "the directory's index contradicts its listing, so "
		    "Linux would not find all names";
	if (rc > 0)
		blame(t, i, "the directory listing is damaged", true);
	else if (l.wrong != NULL)
		blame(t, i, l.wrong, false);
	return 0;
}

/*
 * Compares the export table, if sq_check() found it intact, with the inodes
 * noted; reports the first difference.
 */
static int
check_exports(const struct reading *t, struct sq_codec *c,
    image_report_fn *report, void *arg)
{
	const struct sq_super *s = &t->q->super;
	uint32_t other = 0;
	uint64_t pos = 0;
	char why[WHY_B];
	int rc = 0;

	if (!s->exports_known || t->numbers < s->inode_count)
		return 0;
	for (uint32_t k = 0; other == 0 && k < t->numbers; k += EXPORTS) {
		struct sq_meta block = { 0 };
		uint8_t p[SQUASHFS_POINTER_B] = { 0 };

		rc = sq_read(s, s->exports + k / EXPORTS * sizeof(p), p,
		    sizeof(p));
		pos = load_le64(p);
		if (rc == 0)
			rc = sq_meta_one(&block, s, c, pos);
		for (uint32_t i = 0; rc == 0 && other == 0 && i < EXPORTS &&
		    k + i < t->numbers; i++) {
			uint64_t ref = t->refs[k + 1 + i];

			if (ref != 0 && load_le64(block.data +
			    i * SQUASHFS_EXPORT_B) != ref - 1)
				other = k + 1 + i;
		}
		sq_meta_free(&block, s);
		/* sq_check() could read it */
		if (rc != 0)
			return image_no_memory(rc) ? rc :
			    report(arg, pos, "the export table cannot be "
			    "read");
	}
	if (other == 0)
		return 0;
	snprintf(why, sizeof(why), "the export table's entry for inode %u "
	    "refers to another inode, so NFS would open that one", other);
	return report(arg, pos, why);
}

int
sq_tree_read(struct sq_tables *q, struct image *m, struct sq_codec *c,
    image_report_fn *report, void *arg, const char **why)
{
	struct reading t = { .q = q, .m = m,
		.numbers = q->super.inode_count };
	uint64_t room = q->inodes.count * (uint64_t)(SQUASHFS_META_B / INODE_B);
	struct image_dir root = { .ref = q->super.root };
	struct sq_inode n;
	uint64_t bytes;
	int rc;

	if (t.numbers > room) {
		rc = report(arg, SQUASHFS_S_INODES, "the superblock counts "
		    "more inodes than the inode table has room for");
		if (rc != 0)
			return rc;
		t.numbers = (uint32_t)room;
	}
	bytes = (t.numbers + UINT64_C(1)) * sizeof(*t.refs);
	rc = image_take(m->memory, bytes);
	if (rc != 0)
		return rc;
	t.refs = sys_calloc(t.numbers + (size_t)1, sizeof(*t.refs));
	if (t.refs == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	/* the root has no directory entry */
	if (sq_inode_get(&q->inodes, &q->super, root.ref, &n) == 0) {
		note_number(&t, n.number, root.ref);
		root.damage = n.flaw == SQ_GOOD ? NULL : sq_flaw_text(n.flaw);
	}
	rc = image_add_dir(m, &root);
	for (uint32_t i = 0; rc == 0 && i < m->dir_count; i++)
		if (!m->dir[i].lost)
			rc = enter_dir(&t, i);
	if (rc == 0 && m->dir[0].lost && m->dir_count == 1 &&
	    m->file_count == 1) {
		*why = "the root directory cannot be read";
		rc = -EBADMSG;
	} else if (rc == -ELOOP) {
		*why = "a directory contains itself or has two parents";
		rc = -EBADMSG;
	} else if (rc == -EBADMSG) {
		*why = "the files have more blocks than the inode table has "
		    "room for";
	}
	if (rc == 0)
		rc = check_exports(&t, c, report, arg);
out:
	sys_free(t.refs);
	image_give(m->memory, bytes);
	return rc;
}
