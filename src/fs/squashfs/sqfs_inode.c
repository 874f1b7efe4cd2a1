/*
 * sqfs_inode.c - what files take in a squashfs image: their inodes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs_image.h"

#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SMALL_DIR = 65535 };
#define NONE UINT32_MAX

static unsigned
type_of(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG: return SQFS_REG;
	case S_IFDIR: return SQFS_DIR;
	case S_IFLNK: return SQFS_LINK;
	case S_IFBLK: return SQFS_BLOCK;
	case S_IFCHR: return SQFS_CHAR;
	case S_IFIFO: return SQFS_FIFO;
	default: return SQFS_SOCKET;
	}
}

/* What all inodes begin with.  Owner and group are the root's. */
static void
put_head(struct sqfs_image *m, size_t node, unsigned type)
{
	static const struct stat none = { .st_mode = S_IFDIR | 0755 };
	const struct sqfs_node *n = &m->tree->nodes[node];
	const struct stat *st = n->item == NULL ? &none : &n->item->st;
	struct sqfs_table *t = &m->inodes;

	m->places[node] = sqfs_place(t);
	m->types[node] = (uint16_t)(type > SQFS_LONG ? type - SQFS_LONG : type);
	sqfs_put16(t, type);
	sqfs_put16(t, st->st_mode & 07777);
	sqfs_put16(t, 0);
	sqfs_put16(t, 0);
	sqfs_put32(t, (uint64_t)st->st_mtime);
	sqfs_put32(t, n->number);
}

static uint64_t
holes_of(const struct sqfs_image *m, const struct sqfs_node *n, uint64_t size)
{
	uint32_t block = m->job->params->block;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n->data.blocks; i++) {
		uint64_t left = size - (uint64_t)i * block;

		if (sqfs_size_of(m, n->data.unit + i) == 0)
			sum += left < block ? left : block;
	}
	return sum;
}

static void
put_file(struct sqfs_image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	uint64_t size = (uint64_t)n->item->st.st_size;
	uint64_t holes = holes_of(m, n, size);
	uint64_t start = n->data.blocks == 0 ? 0 : m->starts[n->data.unit];
	uint32_t fragment = !n->data.tail ? NONE :
	    m->units->fragment[n->data.unit] - 1;
	struct sqfs_table *t = &m->inodes;

	if (n->links == 1 && holes == 0 && size < NONE && start < NONE) {
		put_head(m, node, SQFS_REG);
		sqfs_put32(t, start);
		sqfs_put32(t, fragment);
		sqfs_put32(t, n->data.tail_at);
		sqfs_put32(t, size);
	} else {
		put_head(m, node, SQFS_REG + SQFS_LONG);
		sqfs_put64(t, start);
		sqfs_put64(t, size);
		sqfs_put64(t, holes);
		sqfs_put32(t, n->links);
		sqfs_put32(t, fragment);
		sqfs_put32(t, n->data.tail_at);
		sqfs_put32(t, NONE);
	}
	for (uint32_t i = 0; i < n->data.blocks; i++)
		sqfs_put32(t, sqfs_size_of(m, n->data.unit + i));
}

static void
put_link(struct sqfs_image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	char target[PATH_MAX] = "";
	ssize_t size = readlinkat(m->job->list->roots[n->item->root],
	    n->item->path, target, sizeof(target));

	if (size < 0)		/* it is gone, or its path too long */
		size = n->item->st.st_size < PATH_MAX ?
		    n->item->st.st_size : PATH_MAX;
	put_head(m, node, SQFS_LINK);
	sqfs_put32(&m->inodes, n->links);
	sqfs_put32(&m->inodes, (uint64_t)size);
	sqfs_put(&m->inodes, target, (size_t)size);
}

static void
put_other(struct sqfs_image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	unsigned type = type_of(&n->item->st);

	put_head(m, node, type);
	sqfs_put32(&m->inodes, n->links);
	if (type == SQFS_BLOCK || type == SQFS_CHAR)
		sqfs_put32(&m->inodes,
		    (uint64_t)major(n->item->st.st_rdev) << 8 |
		    minor(n->item->st.st_rdev));
}

void
sqfs_put_inode(struct sqfs_image *m, size_t node)
{
	mode_t mode = m->tree->nodes[node].item->st.st_mode;

	if (S_ISREG(mode))
		put_file(m, node);
	else if (S_ISLNK(mode))
		put_link(m, node);
	else
		put_other(m, node);
}

static void
put_index(struct sqfs_image *m)
{
	struct sqfs_table *t = &m->inodes;

	for (size_t i = 0; i < m->index_count; i++) {
		size_t len = strlen(m->indices[i].name);

		sqfs_put32(t, m->indices[i].at);
		sqfs_put32(t, m->indices[i].block);
		sqfs_put32(t, len - 1);
		sqfs_put(t, m->indices[i].name, len);
	}
}

void
sqfs_put_dir(struct sqfs_image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	uint32_t parent = node == 0 ? m->tree->inodes + 1 :
	    m->tree->nodes[n->parent].number;
	struct sqfs_place at = sqfs_place(&m->listings);
	struct sqfs_listing l = { .size = 0 };
	struct sqfs_table *t = &m->inodes;

	sqfs_put_listing(m, node, &l);
	if (l.size == 0)
		at = (struct sqfs_place){ 0, 0 };
	if (m->index_count == 0 && l.size + 3 <= SMALL_DIR) {
		put_head(m, node, SQFS_DIR);
		sqfs_put32(t, at.block);
		sqfs_put32(t, l.dirs + 2);
		sqfs_put16(t, l.size + 3);
		sqfs_put16(t, at.offset);
		sqfs_put32(t, parent);
		return;
	}
	put_head(m, node, SQFS_DIR + SQFS_LONG);
	sqfs_put32(t, l.dirs + 2);
	sqfs_put32(t, l.size + 3);
	sqfs_put32(t, at.block);
	sqfs_put32(t, parent);
	sqfs_put16(t, m->index_count);
	sqfs_put16(t, at.offset);
	sqfs_put32(t, NONE);
	put_index(m);
}
