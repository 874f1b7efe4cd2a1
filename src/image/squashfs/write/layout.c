/*
 * layout.c - the inodes and directory listings of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layout_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <sys/stat.h>

/* Writes all inodes; the inode of a directory follows those of its contents. */
static void
put_inodes(struct sqw_layout *l)
{
	const struct sqw_node *nodes = l->tree->nodes;
	size_t in = 0;

	for (size_t i = 1; i <= l->tree->count; i++) {
		while (in != 0 && nodes[in].end == i) {
			sqw_put_dir(l, in);
			in = nodes[in].parent;
		}
		if (i == l->tree->count)
			break;
		if (!S_ISDIR(nodes[i].attr.mode)) {
			if (nodes[i].owner == i)
				sqw_put_inode(l, i);
			continue;
		}
		in = i;
	}
	sqw_put_dir(l, 0);
}

int
sqw_layout_make(struct sqw_layout *l)
{
	int inodes, listings;

	l->places = sys_calloc(l->tree->count, sizeof(*l->places));
	l->types = sys_calloc(l->tree->count, sizeof(*l->types));
	if (l->places == NULL || l->types == NULL)
		return -ENOMEM;
	put_inodes(l);
	inodes = sqw_table_end(&l->inodes);
	listings = sqw_table_end(&l->listings);
	return l->err != 0 ? l->err : inodes != 0 ? inodes : listings;
}

void
sqw_layout_close(struct sqw_layout *l)
{
	sys_free(l->places);
	sys_free(l->types);
	sys_free(l->indices);
}

uint64_t
sqw_layout_ref(const struct sqw_layout *l, size_t node)
{
	const struct sqw_place *p = &l->places[node];

	return (uint64_t)p->block << 16 | p->offset;
}
