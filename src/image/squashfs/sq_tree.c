/*
 * sq_tree.c - the names of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A listing is headers of three le32 (entries less one, inode block, inode
 * number), each with its entries: le16 offset, number, type, length less one,
 * and the name.  Its size is given with three bytes more.
 *
 * Directories are taken in the order in which they are found, so nothing
 * recurses.  One that is in itself, or in two places, would never end; but no
 * byte of the directory table belongs to two listings, so what has been
 * listed can at most be the table.  Likewise no two inodes share what they say
 * of their blocks, so these can at most be the inode table's words; and an
 * inode of many names is looked at once.
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { HEADER_B = 12, ENTRY_B = 8, LIST_MORE = 3, ENTRIES_MAX = 256,
    REFS_MIN = 256 };

static int
add_dir(struct sq_image *m, struct sq_dir d)
{
	void *p = m->dir;
	/* they are known by indices of 32 bits */
	int rc = m->dir_count >= UINT32_MAX ? -EFBIG : sq_grow(&m->super, &p,
	    m->dir_count, &m->dir_cap, sizeof(*m->dir));

	m->dir = p;
	if (rc == 0)
		m->dir[m->dir_count++] = d;
	return rc;
}

static int
add_file(struct sq_image *m, struct sq_file f)
{
	void *p = m->file;
	/* they are known by indices of 32 bits */
	int rc = m->file_count >= UINT32_MAX ? -EFBIG : sq_grow(&m->super, &p,
	    m->file_count, &m->file_cap, sizeof(*m->file));

	m->file = p;
	if (rc == 0)
		m->file[m->file_count++] = f;
	return rc;
}

static bool
good_name(const uint8_t *s, size_t len)
{
	if (len > SQ_NAME_MAX || memchr(s, '/', len) != NULL ||
	    memchr(s, '\0', len) != NULL)
		return false;
	return !(s[0] == '.' && (len == 1 || (len == 2 && s[1] == '.')));
}

/* Whether all that a file's inode says of its data can be. */
static enum sq_flaw
check_data(const struct sq_image *m, const struct sq_file *f)
{
	const struct sq_super *s = &m->super;
	uint64_t end = f->start;

	for (uint32_t i = 0; i < f->blocks; i++) {
		uint32_t word = load_le32(f->sizes + 4 * (size_t)i);

		if (word >= 2 * SQ_STORED || (word & (SQ_STORED - 1)) >
		    s->block)
			return SQ_BAD_BLOCK;
		if (word != 0 && end > s->length)
			return SQ_OUTSIDE;
		end += word & (SQ_STORED - 1);
	}
	if (f->fragment == SQ_NO_FRAGMENT)
		return f->flaw;
	if (f->fragment >= s->fragment_count)
		return SQ_BAD_FRAGMENT;
	if (f->tail_at > s->block || sq_tail_len(s, f) > s->block - f->tail_at)
		return SQ_BAD_TAIL;
	if (m->fragments[f->fragment].start == 0 && sq_tail_len(s, f) > 0)
		return SQ_LOST_FRAGMENT;
	return f->flaw;
}

/* Where the file of that inode is in refs, or is to be. */
static size_t
find_ref(const struct sq_image *m, uint64_t ref)
{
	size_t last = m->ref_cap - 1;
	size_t i = (size_t)(ref * 0x9e3779b97f4a7c15U >> 32) & last;

	while (m->refs[i] != 0 && m->file[m->refs[i]].ref != ref)
		i = (i + 1) & last;
	return i;
}

/* Room for one more; half of it stays free. */
static int
grow_refs(struct sq_image *m)
{
	uint32_t *old = m->refs, *more;
	size_t old_cap = m->ref_cap;
	size_t cap = old_cap == 0 ? REFS_MIN : 2 * old_cap;

	if (2 * m->ref_count < old_cap)
		return 0;
	if (sq_take(&m->super, (cap - old_cap) * sizeof(*more)) != 0)
		return -EDQUOT;
	more = sys_calloc(cap, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	m->refs = more;
	m->ref_cap = cap;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i] != 0)
			more[find_ref(m, m->file[old[i]].ref)] = old[i];
	sys_free(old);
	return 0;
}

/* A file with blocks, which is going to be entered. */
static int
know_blocks(struct sq_image *m, struct sq_file *f)
{
	int rc = grow_refs(m);
	size_t i;

	if (rc != 0)
		return rc;
	i = find_ref(m, f->ref);
	f->same = m->refs[i];
	if (f->same != 0) {
		f->flaw = m->file[f->same].flaw;
		return 0;
	}
	m->refs[i] = (uint32_t)m->file_count;
	m->ref_count++;
	m->blocks += f->blocks;
	if (m->blocks > m->inodes.count * (uint64_t)(SQ_META_B / 4))
		return -EBADMSG;
	f->flaw = check_data(m, f);
	return 0;
}

static int
enter_file(struct sq_image *m, struct sq_file f, unsigned type)
{
	struct sq_inode n;
	int rc = 0;

	if (sq_inode_get(&m->inodes, &m->super, f.ref, &n) != 0) {
		f.type = SQ_OTHER;
		f.flaw = SQ_BAD_INODE;
		return add_file(m, f);
	}
	f.type = (uint8_t)n.type;
	f.flaw = n.flaw == SQ_GOOD && n.number != type ? SQ_BAD_TYPE : n.flaw;
	if (n.type == SQ_DIR) {
		f.type = SQ_OTHER;
		f.flaw = SQ_BAD_DIR;
	} else if (n.type == SQ_FILE) {
		f.size = n.size;
		f.start = n.start;
		f.sizes = n.sizes;
		f.blocks = n.blocks;
		f.fragment = n.fragment;
		f.tail_at = n.tail_at;
		if (f.blocks > 0)
			rc = know_blocks(m, &f);
		else if (f.size > 0)
			f.flaw = check_data(m, &f);
	}
	return rc != 0 ? rc : add_file(m, f);
}

/* What is to be read of a listing. */
struct list {
	const uint8_t *p, *end;
	uint32_t dir;			/* index */
};

static bool
is_dir(unsigned type)
{
	return type == 1 || type == 8;
}

/* The entries of one header: 0, 1 (the listing is damaged) or -errno. */
static int
enter_some(struct sq_image *m, struct list *l, uint32_t count,
    uint64_t inodes)
{
	for (; count > 0; count--) {
		size_t len;
		uint64_t ref;
		int rc;

		if (l->end - l->p < ENTRY_B)
			return 1;
		len = load_le16(l->p + 6) + (size_t)1;
		if ((size_t)(l->end - l->p) - ENTRY_B < len ||
		    !good_name(l->p + ENTRY_B, len))
			return 1;
		ref = inodes << 16 | load_le16(l->p);
		if (is_dir(load_le16(l->p + 4)))
			rc = add_dir(m, (struct sq_dir){
			    .name = l->p + ENTRY_B, .name_len = (uint16_t)len,
			    .parent = l->dir, .ref = ref });
		else
			rc = enter_file(m, (struct sq_file){
			    .name = l->p + ENTRY_B, .name_len = (uint16_t)len,
			    .dir = l->dir, .ref = ref },
			    load_le16(l->p + 4));
		if (rc != 0)
			return rc;
		l->p += ENTRY_B + len;
	}
	return 0;
}

static int
enter_list(struct sq_image *m, struct list *l)
{
	while (l->p < l->end) {
		uint64_t count;
		int rc;

		if (l->end - l->p < HEADER_B)
			return 1;
		count = load_le32(l->p) + (uint64_t)1;
		if (count > ENTRIES_MAX)
			return 1;
		l->p += HEADER_B;
		rc = enter_some(m, l, (uint32_t)count,
		    load_le32(l->p - HEADER_B + 4));
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Adds the entries of directory i; listed: bytes of listings so far. */
static int
enter_dir(struct sq_image *m, uint32_t i, uint64_t *listed)
{
	struct list l = { .dir = i };
	struct sq_inode n;
	int rc;

	m->dir[i].bad = "its inode cannot be read";
	if (sq_inode_get(&m->inodes, &m->super, m->dir[i].ref, &n) != 0 ||
	    n.type != SQ_DIR)
		return 0;
	m->dir[i].flaw = n.flaw;
	m->dir[i].bad = "its listing cannot be read";
	if (n.size > LIST_MORE) {
		l.p = sq_meta_get(&m->dirs, n.dir_block, n.dir_offset,
		    (size_t)n.size - LIST_MORE);
		if (l.p == NULL)
			return 0;
		l.end = l.p + n.size - LIST_MORE;
		*listed += n.size - LIST_MORE;
		if (*listed > m->dirs.count * (uint64_t)SQ_META_B)
			return -ELOOP;
	}
	rc = enter_list(m, &l);
	if (rc > 0)
		m->dir[i].bad = "its listing is damaged";
	if (rc == 0)
		m->dir[i].bad = NULL;
	return rc < 0 ? rc : 0;
}

int
sq_tree_read(struct sq_image *m, const char **why)
{
	uint64_t listed = 0;
	int rc = add_dir(m, (struct sq_dir){ .ref = m->super.root });

	/* index 0 ends lists of files */
	if (rc == 0)
		rc = add_file(m, (struct sq_file){ .type = SQ_OTHER });
	for (uint32_t i = 0; rc == 0 && i < m->dir_count; i++)
		rc = enter_dir(m, i, &listed);
	if (rc == 0 && m->dir[0].bad != NULL && m->file_count == 1) {
		*why = "its root directory cannot be read";
		return -EBADMSG;
	}
	if (rc == -ELOOP)
		*why = "a directory is inside itself, or in two places";
	if (rc == -EBADMSG)
		*why = "its files have more blocks than its inode table has "
		    "room for";
	return rc == -ELOOP ? -EBADMSG : rc;
}
