/*
 * imgsrc_order.c - ordering the files of an image by a list
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "imgsrc_order.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LIST_MAX = 1 << 28 };		/* maximum size of a list, in bytes */

int
imgsrc_order_open(struct imgsrc_image *to)
{
	const char *name = to->o.order;
	size_t len, line = 0;
	char *text;
	int fd, rc;

	to->order = sys_calloc(1, sizeof(*to->order));
	if (to->order == NULL)
		return imgsrc_no_memory(to);
	fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	rc = fd < 0 ? fd : fdio_read_all(fd, LIST_MAX, &text, &len);
	if (fd >= 0)
		sys_close(fd);
	if (rc == 0)
		rc = walk_order_read(&to->order->list, text, len,
		    to->o.null_ends, &line);
	if (rc == -EINVAL)
		return imgsrc_fail(to, rc, "%s: line %zu: expected a path, or "
		    "a number, a path, an offset and a length separated by "
		    "tabs", name, line);
	return rc == 0 ? 0 : imgsrc_fail(to, rc, "%s: %s", name,
	    strerror(-rc));
}

void
imgsrc_order_close(struct imgsrc_order *order)
{
	if (order == NULL)
		return;
	walk_order_free(order->list);
	sys_free(order->path);
	sys_free(order);
}

int
imgsrc_order_rank(struct imgsrc_image *to, size_t node, uint32_t *rank)
{
	struct imgsrc_order *order = to->order;
	int rc = sqw_tree_path(&to->tree, node, &order->path, &order->room);

	if (rc == 0)
		*rank = walk_order_rank(order->list, order->path);
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
rank_nodes(struct imgsrc_image *to, uint32_t *ranks)
{
	const struct sqw_node *nodes = to->tree.nodes;

	memset(ranks, 0xff, to->tree.count * sizeof(*ranks));
	for (size_t i = 1; i < to->tree.count; i++) {
		uint32_t *best = &ranks[nodes[i].owner], rank;

		if (!S_ISREG(nodes[i].attr.mode))
			continue;
		if (imgsrc_order_rank(to, i, &rank) != 0)
			return -ENOMEM;
		if (rank < *best)
			*best = rank;
	}
	return 0;
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
imgsrc_order_sort(struct imgsrc_image *to, uint32_t *files, size_t count,
    size_t *rest, size_t *last)
{
	uint32_t *ranks = sys_malloc(to->tree.count * sizeof(*ranks));
	struct ranked *r = sys_malloc((count + 1) * sizeof(*r));
	int rc = ranks == NULL || r == NULL ? -ENOMEM : rank_nodes(to, ranks);

	if (rc != 0)
		goto out;
	for (size_t i = 0; i < count; i++)
		r[i] = (struct ranked){ ranks[files[i]], files[i] };
	if (count > 0)
		qsort(r, count, sizeof(*r), by_rank);
	for (size_t i = 0; i < count; i++)
		files[i] = r[i].node;
	*rest = count_below(r, count, WALK_ORDER_REST);
	*last = count_below(r, count, WALK_ORDER_REST + 1);
out:
	sys_free(ranks);
	sys_free(r);
	return rc;
}

int
imgsrc_order_check(struct imgsrc_image *to)
{
	const struct walk_order *list = to->order->list;
	size_t all = walk_order_count(list), found = walk_order_found(list);
	const char *missing = walk_order_missing(list);

	if (missing != NULL && found == 0)
		return imgsrc_fail(to, -ENOENT, "%s: none of the paths names "
		    "a file in the image, for example %s", to->o.order,
		    missing);
	if (missing != NULL)
		imgsrc_tell(to, IMGSRC_NOTE, "%s: %zu of %zu paths do not name "
		    "a file in the image, for example %s", to->o.order,
		    all - found, all, missing);
	return 0;
}
