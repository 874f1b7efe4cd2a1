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
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { LINKS_MIN = 256 };

/* The tree being read. */
struct reading {
	struct sq_image *q;
	struct image *m;
	uint64_t listed;		/* total size of the listings read so
					 * far */
};

static bool
good_name(const uint8_t *s, size_t len)
{
	if (len > SQUASHFS_NAME_MAX || memchr(s, '/', len) != NULL ||
	    memchr(s, '\0', len) != NULL)
		return false;
	return !(s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')));
}

/*
 * Returns the flaw in a file's inode that concerns its data; SQ_GOOD if there
 * is none.
 */
static unsigned
check_data(const struct reading *t, const struct image_file *f)
{
	const struct sq_super *s = &t->q->super;
	size_t tail = image_tail_len(t->m, f);
	uint64_t end = f->start;

	for (uint32_t i = 0; i < f->blocks; i++) {
		uint32_t word = load_le32(f->map + 4 * (size_t)i);
		uint32_t stored = word & (SQUASHFS_BLOCK_RAW - 1);

		if (word >= 2 * SQUASHFS_BLOCK_RAW || stored > s->block)
			return SQ_BAD_BLOCK;
		if (word != 0 && end > s->length)
			return SQ_OUTSIDE;
		end += stored;
	}
	if (f->fragment == IMAGE_NONE)
		return f->flaw;
	if (f->fragment >= s->fragment_count)
		return SQ_BAD_FRAGMENT;
	if (f->tail_at > s->block || tail > s->block - f->tail_at)
		return SQ_BAD_TAIL;
	if (t->q->fragments[f->fragment].start == 0 && tail > 0)
		return SQ_LOST_FRAGMENT;
	return f->flaw;
}

/* Returns the slot in links for the file with the given inode. */
static size_t
find_link(const struct reading *t, uint64_t ref)
{
	const struct sq_image *q = t->q;
	size_t last = q->link_cap - 1;
	size_t i = (size_t)(ref * 0x9e3779b97f4a7c15U >> 32) & last;

	while (q->links[i] != 0 && t->m->file[q->links[i]].ref != ref)
		i = (i + 1) & last;
	return i;
}

/* Makes room for one more link; half of the table remains free. */
static int
grow_links(struct reading *t)
{
	struct sq_image *q = t->q;
	uint32_t *old = q->links, *more;
	size_t old_cap = q->link_cap;
	size_t cap = old_cap == 0 ? LINKS_MIN : 2 * old_cap;

	if (2 * q->link_count < old_cap)
		return 0;
	if (image_take(t->m->memory, (cap - old_cap) * sizeof(*more)) != 0)
		return -EDQUOT;
	more = sys_calloc(cap, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	q->links = more;
	q->link_cap = cap;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i] != 0)
			more[find_link(t, t->m->file[old[i]].ref)] = old[i];
	sys_free(old);
	return 0;
}

/* Adds the blocks of a file to the total, unless its inode is already known. */
static int
know_blocks(struct reading *t, struct image_file *f)
{
	struct sq_image *q = t->q;
	int rc = grow_links(t);
	size_t i;

	if (rc != 0)
		return rc;
	i = find_link(t, f->ref);
	f->hardlink_of = q->links[i];
	if (f->hardlink_of != 0) {
		f->flaw = t->m->file[f->hardlink_of].flaw;
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

/* Interprets a file's inode. */
static int
load_file(struct reading *t, struct image_file *f, const struct sq_inode *n)
{
	f->type = WALK_FILE;
	f->size = n->size;
	f->start = n->start;
	f->map = n->sizes;
	f->blocks = n->blocks;
	f->fragment = n->fragment;
	f->tail_at = n->tail_at;
	if (f->blocks > 0)
		return know_blocks(t, f);
	if (f->size > 0)
		f->flaw = (uint8_t)check_data(t, f);
	return 0;
}

/* Adds a file; type is the type in its directory entry. */
static int
enter_file(struct reading *t, struct image_file f, unsigned type)
{
	struct sq_inode n;
	int rc = 0;

	f.type = WALK_OTHER;
	f.fragment = IMAGE_NONE;
	if (sq_inode_get(&t->q->inodes, &t->q->super, f.ref, &n) != 0) {
		f.flaw = SQ_BAD_INODE;
	} else if (n.type == SQUASHFS_DIR) {
		f.flaw = SQ_BAD_DIR;
	} else {
		f.flaw = n.flaw == SQ_GOOD && n.type != type ? SQ_BAD_TYPE :
		    n.flaw;
		if (n.type == SQUASHFS_LINK)
			f.type = WALK_LINK;
		else if (n.type == SQUASHFS_FILE)
			rc = load_file(t, &f, &n);
	}
	f.unreadable = f.flaw != SQ_GOOD && f.flaw < SQ_REFUSED;
	return rc != 0 ? rc : image_add_file(t->m, &f);
}

/* The part of a listing that has not been read. */
struct list {
	const uint8_t *p, *end;
	uint32_t dir;			/* index */
};

static bool
is_dir(unsigned type)
{
	return type == SQUASHFS_DIR || type == SQUASHFS_DIR + SQUASHFS_LONG;
}

/*
 * Reads one header's entries.  Returns 0, 1 (the listing is damaged) or -errno.
 */
static int
enter_some(struct reading *t, struct list *l, uint32_t count,
    uint64_t inodes)
{
	for (; count > 0; count--) {
		const uint8_t *name = l->p + SQUASHFS_ENTRY_B;
		unsigned type;
		size_t len;
		uint64_t ref;
		int rc;

		if (l->end - l->p < SQUASHFS_ENTRY_B)
			return 1;
		len = load_le16(l->p + 6) + (size_t)1;
		if ((size_t)(l->end - name) < len || !good_name(name, len))
			return 1;
		ref = inodes << 16 | load_le16(l->p);
		type = load_le16(l->p + 4);
		if (is_dir(type))
			rc = image_add_dir(t->m, &(struct image_dir){
			    .name = name, .name_len = (uint16_t)len,
			    .parent = l->dir, .ref = ref });
		else
			rc = enter_file(t, (struct image_file){ .name = name,
			    .name_len = (uint16_t)len, .dir = l->dir,
			    .ref = ref }, type);
		if (rc != 0)
			return rc;
		l->p = name + len;
	}
	return 0;
}

static int
enter_list(struct reading *t, struct list *l)
{
	while (l->p < l->end) {
		const uint8_t *head = l->p;
		uint64_t count;
		int rc;

		if (l->end - head < SQUASHFS_LISTING_HEAD_B)
			return 1;
		count = load_le32(head) + (uint64_t)1;
		if (count > SQUASHFS_LISTING_RUN)
			return 1;
		l->p += SQUASHFS_LISTING_HEAD_B;
		rc = enter_some(t, l, (uint32_t)count, load_le32(head + 4));
		if (rc != 0)
			return rc;
	}
	return 0;
}

/*
 * Reads the entries of directory i; sets *damage to the reason why some are
 * missing, or to NULL.
 */
static int
enter_dir(struct reading *t, uint32_t i, const char **damage,
    unsigned *flaw)
{
	struct list l = { .dir = i };
	const struct sq_meta *dirs = &t->q->dirs;
	struct sq_inode n;
	int rc;

	*flaw = SQ_GOOD;
	*damage = "the inode cannot be read";
	if (sq_inode_get(&t->q->inodes, &t->q->super, t->m->dir[i].ref,
	    &n) != 0 || n.type != SQUASHFS_DIR)
		return 0;
	*flaw = n.flaw;
	*damage = "the directory listing cannot be read";
	if (n.size > SQUASHFS_LISTING_EXTRA) {
		n.size -= SQUASHFS_LISTING_EXTRA;
		l.p = sq_meta_get(dirs, n.dir_block, n.dir_offset,
		    (size_t)n.size);
		if (l.p == NULL)
			return 0;
		l.end = l.p + n.size;
		t->listed += n.size;
		if (t->listed > dirs->count * (uint64_t)SQUASHFS_META_B)
			return -ELOOP;
	}
	rc = enter_list(t, &l);
	*damage = rc > 0 ? "the directory listing is damaged" : NULL;
	return rc < 0 ? rc : 0;
}

int
sq_tree_read(struct sq_image *q, struct image *m, const char **why)
{
	struct reading t = { .q = q, .m = m };
	int rc = image_add_dir(m, &(struct image_dir){
	    .ref = q->super.root });

	for (uint32_t i = 0; rc == 0 && i < m->dir_count; i++) {
		const char *damage;
		unsigned flaw;

		rc = enter_dir(&t, i, &damage, &flaw);
		m->dir[i].lost = damage != NULL;
		m->dir[i].damage = damage != NULL ? damage :
		    flaw != SQ_GOOD ? sq_flaw_text(flaw) : NULL;
	}
	if (rc == 0 && m->dir[0].lost && m->file_count == 1) {
		*why = "the root directory cannot be read";
		return -EBADMSG;
	}
	if (rc == -ELOOP)
		*why = "a directory contains itself or has two parents";
	if (rc == -EBADMSG)
		*why = "the files have more blocks than the inode table has "
		    "room for";
	return rc == -ELOOP ? -EBADMSG : rc;
}
