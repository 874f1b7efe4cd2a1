/*
 * sqpack_order.c - ordering the files of an image by a list
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_order.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIST_MAX = 1 << 28 };		/* maximum size of a list, in bytes */

int
sqpack_order_open(struct sqpack *p)
{
	const char *name = p->o.order;
	size_t len, line = 0;
	char *text;
	int fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fdio_read_all(fd, LIST_MAX, &text, &len);

	if (fd >= 0)
		sys_close(fd);
	if (rc == 0)
		rc = walk_order_read(&p->order, text, len, p->o.null_ends,
		    &line);
	if (rc == -EINVAL)
		msg_error(&p->msg, "%s: line %zu: expected a path, or a "
		    "number, a path, an offset and a length separated by tabs",
		    name, line);
	else if (rc != 0)
		msg_error(&p->msg, "%s: %s", name, strerror(-rc));
	return rc;
}

int
sqpack_order_rank(struct sqpack *p, size_t node, uint32_t *rank)
{
	int rc = sqw_tree_path(&p->tree, node, &p->order_path,
	    &p->order_room);

	if (rc == 0)
		*rank = walk_order_rank(p->order, p->order_path);
	return rc;
}

struct ranked {
	uint32_t rank, node;
};

static int
by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Ranks each inode by the name that comes first in the list. */
static int
rank_nodes(struct sqpack *p, uint32_t *ranks)
{
	const struct sqw_node *nodes = p->tree.nodes;
	int rc = 0;

	memset(ranks, 0xff, p->tree.count * sizeof(*ranks));
	for (size_t i = 1; rc == 0 && i < p->tree.count; i++) {
		uint32_t *r = &ranks[nodes[i].owner], rank;

		if (!S_ISREG(nodes[i].attr.mode))
			continue;
		rc = sqpack_order_rank(p, i, &rank);
		if (rc == 0 && rank < *r)
			*r = rank;
	}
	return rc;
}

/* Returns the number of files with a lower rank. */
static size_t
count_below(const struct ranked *r, size_t count, uint32_t rank)
{
	size_t n = 0;

	while (n < count && r[n].rank < rank)
		n++;
	return n;
}

int
sqpack_order_sort(struct sqpack *p, uint32_t *files, size_t count,
    size_t *rest, size_t *last)
{
	uint32_t *ranks = sys_malloc(p->tree.count * sizeof(*ranks));
	struct ranked *r = sys_malloc((count + 1) * sizeof(*r));
	int rc = ranks == NULL || r == NULL ? -ENOMEM : rank_nodes(p, ranks);

	if (rc == 0) {
		for (size_t i = 0; i < count; i++)
			r[i] = (struct ranked){ ranks[files[i]], files[i] };
		if (count > 0)
			qsort(r, count, sizeof(*r), by_rank);
		for (size_t i = 0; i < count; i++)
			files[i] = r[i].node;
		*rest = count_below(r, count, WALK_ORDER_REST);
		*last = count_below(r, count, WALK_ORDER_REST + 1);
	}
	sys_free(ranks);
	sys_free(r);
	return rc;
}

int
sqpack_order_check(struct sqpack *p)
{
	size_t all = walk_order_count(p->order);
	size_t found = walk_order_found(p->order);
	const char *missing = walk_order_missing(p->order);

	if (missing != NULL && found == 0) {
		msg_error(&p->msg, "%s: none of the paths names a file "
		    "in the image, for example %s", p->o.order, missing);
		return -ENOENT;
	}
	if (missing != NULL && p->msg.verbose > 0)
		msg_note(&p->msg, "%s: %zu of %zu paths do not name a file "
		    "in the image, for example %s", p->o.order,
		    all - found, all, missing);
	return 0;
}
