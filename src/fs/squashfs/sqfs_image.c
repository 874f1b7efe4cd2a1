/*
 * sqfs_image.c - the size of a complete squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Inodes and listings are written and compressed as in an image.  The positions
 * of the data of large files are as in sqpack's image; in mksquashfs's image
 * only their last digits differ.
 */
#include "sqfs.h"

#include "base/sys.h"
#include "image/squashfs/write/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An image being measured. */
struct image {
	const struct sqfs_units *units;
	const struct fs_job *job;
	unsigned algorithm;
	struct packer *packer;
	uint64_t *starts;		/* positions of the units in the image;
					 * of a hole, only of its first */
	/*
	 * The last metadata block and its packed size; the block list of a
	 * large hole consists of thousands of equal ones.
	 */
	uint8_t last[SQUASHFS_META_B];
	size_t last_len, last_packed;
	struct sqw_layout layout;
	struct sqw_table other;
};

static uint32_t
unit_size(const void *arg, uint32_t unit)
{
	const struct image *m = arg;

	return m->units->sizes[(size_t)unit * m->job->count + m->algorithm];
}

static uint64_t
start_of(const void *arg, uint32_t unit)
{
	return ((const struct image *)arg)->starts[unit];
}

static uint32_t
fragment_of(const void *arg, uint32_t unit)
{
	return ((const struct image *)arg)->units->data.fragment[unit];
}

/* The index of an id: always 0, because everything belongs to root. */
static uint16_t
id_of(const void *arg, uint32_t id)
{
	(void)arg;
	(void)id;
	return 0;
}

static size_t
pack_meta(void *arg, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	struct image *m = arg;
	size_t n;

	(void)out;
	if (m->packer == NULL)
		return 0;
	if (len == m->last_len && memcmp(in, m->last, len) == 0)
		return m->last_packed;
	n = packer_pack(m->packer, in, len, cap);
	/* otherwise it is stored */
	m->last_packed = n < len ? n : 0;
	m->last_len = len;
	memcpy(m->last, in, len);
	return m->last_packed;
}

static int
by_number(const void *a, const void *b)
{
	const struct sqfs_run *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/*
 * Returns the size of the current table and of its block list, and resets the
 * table.
 */
static uint64_t
end_other(struct image *m)
{
	uint64_t all;

	sqw_table_end(&m->other);
	all = m->other.size + SQUASHFS_POINTER_B * m->other.blocks;
	m->other.size = m->other.blocks = 0;
	return all;
}

int
sqfs_measure(const struct sqfs_tree *t, const struct sqfs_units *u,
    const struct fs_job *job, unsigned algorithm, bool in_order,
    struct sqfs_space *s)
{
	struct image *m = sys_calloc(1, sizeof(*m));
	uint64_t *refs = sys_calloc(t->tree.inodes, sizeof(*refs));
	struct sqw_table_ops ops = { .pack = pack_meta, .arg = m };
	const struct packer_name *a = &job->algorithms[algorithm];
	struct sqfs_run *runs = sys_malloc(u->run_count * sizeof(*runs) + 1);
	uint64_t head = SQUASHFS_SUPER_B, at;
	int rc = -ENOMEM;

	/* the compressor options, if mksquashfs writes them */
	if (a->kind != NULL && strncmp(a->kind->name, "lz4", 3) == 0)
		head += SQUASHFS_META_HEADER_B + 8;
	else if (a->kind != NULL && a->level != a->kind->level_default)
		head += SQUASHFS_META_HEADER_B +
		    (strcmp(a->kind->name, "zstd") == 0 ? 4 : 8);
	at = head;
	if (m == NULL || refs == NULL || runs == NULL)
		goto out;
	m->units = u;
	m->job = job;
	m->algorithm = algorithm;
	m->layout = (struct sqw_layout){ .tree = &t->tree,
		.block = job->params->block, .size_of = unit_size,
		.start_of = start_of, .fragment_of = fragment_of,
		.id_of = id_of, .arg = m };
	m->layout.inodes.ops = m->layout.listings.ops = m->other.ops = ops;
	m->starts = sys_calloc(u->count + 1, sizeof(*m->starts));
	if (m->starts == NULL)
		goto out;
	rc = packer_open(&m->packer, a, SQUASHFS_META_B);
	if (rc != 0)
		goto out;
	/* the units one after another, in sqpack's order or by number */
	if (u->run_count > 0)
		memcpy(runs, u->runs, u->run_count * sizeof(*runs));
	if (u->run_count > 0 && !in_order)
		qsort(runs, u->run_count, sizeof(*runs), by_number);
	for (size_t i = 0; i < u->run_count; i++) {
		m->starts[runs[i].number] = at;
		at += unit_size(m, runs[i].number) &
		    ~(uint32_t)SQUASHFS_BLOCK_RAW;
	}
	s->data_B = at - head;
	rc = sqw_layout_make(&m->layout);
	if (rc != 0)
		goto out;
	s->tables_B = head + m->layout.inodes.size + m->layout.listings.size;
	/* the fragments */
	for (size_t i = 0; i < u->count; i++) {
		if (u->data.fragment[i] == SQUASHFS_NONE)
			continue;
		sqw_put64(&m->other, m->starts[i]);
		sqw_put32(&m->other, unit_size(m, (uint32_t)i));
		sqw_put32(&m->other, 0);
	}
	s->tables_B += end_other(m);
	/* the export table */
	for (size_t i = 0; i < t->tree.count; i++)
		if (t->tree.nodes[i].owner == i)
			refs[t->tree.nodes[i].number - 1] =
			    sqw_layout_ref(&m->layout, i);
	for (uint32_t i = 0; i < t->tree.inodes; i++)
		sqw_put64(&m->other, refs[i]);
	s->tables_B += end_other(m);
	/* the only id */
	sqw_put32(&m->other, 0);
	s->tables_B += end_other(m);
out:
	sys_free(refs);
	sys_free(runs);
	if (m != NULL) {
		packer_close(m->packer);
		sqw_layout_close(&m->layout);
		sys_free(m->starts);
		sys_free(m);
	}
	return rc;
}
