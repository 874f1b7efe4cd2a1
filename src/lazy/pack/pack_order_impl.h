/*
 * pack_order_impl.h - declarations shared by the parts of pack_order.h
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_ORDER_IMPL_H
#define COLDPRESS_LAZY_PACK_PACK_ORDER_IMPL_H

#include "pack_order.h"

#include "base/arena.h"
#include "walk/walk_order.h"

#define ORDER_NONE UINT32_MAX

struct order_entry {
	const char *path, *link;	/* normalized; link: target of a hard
					 * link */
	uint64_t start;			/* offset in the archive; the entry ends
					 * where the next one starts */
	uint64_t data, size;		/* a file's data, if it has no holes */
	uint32_t rank;
	uint32_t place;			/* number in the layer */
	enum tar_type type;
	bool fixed;			/* is not moved */
	bool ours;			/* omitted; see layer_is_internal() */
	bool moved;
};

/* Bytes of the archive, or the landmark. */
struct order_part {
	uint64_t at, len;
	bool landmark;
};

struct pack_order {
	int fd;				/* the archive */
	bool own_fd;
	uint64_t base;			/* offset of the archive in fd */
	uint64_t stored, end;		/* its length there, and with the
					 * padding after the last entry */
	struct arena arena;
	struct order_entry *entries;
	uint32_t *by_path;		/* indices sorted by path */
	size_t count, cap;
	bool globals;			/* global records are between entries */
	uint64_t tail;			/* start of the end-of-archive marker */
	struct order_part *parts;
	size_t part_count, part_cap;
	uint32_t placed;		/* number of entries placed so far */
	struct pack_touch *touches;
	size_t touch_count, touch_cap;
	/* reading */
	struct strbuf landmark;
	size_t part;
	uint64_t part_at;
	struct tar *tar;
	struct pack_cut *cut;
};

/* Returns the only entry with this path, or ORDER_NONE. */
uint32_t order_find(const struct pack_order *o, const char *path, size_t len);

/*
 * pack_order_list.c: lists the archive in the file `in`.  Returns 0, or -errno
 * with a clause in why.
 */
int order_list(struct pack_order *o, const struct pack_options *options,
    int in, char why[LAYER_WHY]);

/*
 * pack_order_plan.c: fill in the parts, and the touches.  Return 0 or -ENOMEM.
 */
int order_plan(struct pack_order *o, struct walk_order *list);
int order_touches(struct pack_order *o, const struct walk_order *list);

#endif
