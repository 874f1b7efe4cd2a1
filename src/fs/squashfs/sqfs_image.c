/*
 * sqfs_image.c - what files take in a squashfs image: all of it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Inodes and listings are made as mksquashfs -all-root makes them and
 * compressed in their metadata blocks: all but the last digits of where large
 * files' data begin is as there.
 */
#include "sqfs_image.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

uint32_t
sqfs_size_of(const struct sqfs_image *m, size_t unit)
{
	return m->units->sizes[unit * m->job->count + m->algorithm];
}

/* Where each unit begins, one behind the other; what all take. */
static uint64_t
place_units(struct sqfs_image *m, uint64_t at)
{
	uint64_t first = at;

	for (size_t i = 0; i < m->units->count; i++) {
		m->starts[i] = at;
		at += sqfs_size_of(m, i) & ~(uint32_t)SQFS_RAW;
	}
	return at - first;
}

/* All inodes: a directory's behind what is in it. */
static void
put_inodes(struct sqfs_image *m)
{
	const struct sqfs_node *nodes = m->tree->nodes;
	size_t in = 0;

	for (size_t i = 1; i <= m->tree->count; i++) {
		while (in != 0 && nodes[in].end == i) {
			sqfs_put_dir(m, in);
			in = nodes[in].parent;
		}
		if (i == m->tree->count)
			break;
		if (S_ISDIR(nodes[i].item->st.st_mode))
			in = i;
		else if (nodes[i].owner == i)
			sqfs_put_inode(m, i);
	}
	sqfs_put_dir(m, 0);
}

static uint64_t
fragments_size(struct sqfs_image *m)
{
	struct sqfs_table *t = &m->other;

	for (size_t i = 0; i < m->units->count; i++) {
		if (m->units->fragment[i] == 0)
			continue;
		sqfs_put64(t, m->starts[i]);
		sqfs_put32(t, sqfs_size_of(m, i));
		sqfs_put32(t, 0);
	}
	return sqfs_table_end(t, true);
}

static uint64_t
exports_size(struct sqfs_image *m, uint64_t *places)
{
	const struct sqfs_tree *tree = m->tree;

	for (size_t i = 0; i < tree->count; i++)
		if (tree->nodes[i].owner == i)
			places[tree->nodes[i].number - 1] =
			    (uint64_t)m->places[i].block << 16 |
			    m->places[i].offset;
	for (uint32_t i = 0; i < tree->inodes; i++)
		sqfs_put64(&m->other, places[i]);
	return sqfs_table_end(&m->other, true);
}

static uint64_t
ids_size(struct sqfs_image *m)
{
	sqfs_put32(&m->other, 0);
	return sqfs_table_end(&m->other, true);
}

/* Options of the compressor, where mksquashfs writes them. */
static uint64_t
options_size(const struct packer_name *a)
{
	if (a->kind == NULL)
		return 0;
	if (strncmp(a->kind->name, "lz4", 3) == 0)
		return SQFS_HEADER + 8;
	if (a->level == a->kind->level_default)
		return 0;
	return SQFS_HEADER + (strcmp(a->kind->name, "zstd") == 0 ? 4 : 8);
}

static void
measure(struct sqfs_image *m, uint64_t *exports, struct sqfs_space *s)
{
	uint64_t head = SQFS_SUPER +
	    options_size(&m->job->algorithms[m->algorithm]);

	s->data_B = place_units(m, head);
	put_inodes(m);
	s->tables_B = head + sqfs_table_end(&m->inodes, false) +
	    sqfs_table_end(&m->listings, false);
	s->tables_B += fragments_size(m);
	s->tables_B += exports_size(m, exports);
	s->tables_B += ids_size(m);
}

static int
open_image(struct sqfs_image *m)
{
	int rc = packer_open(&m->packer, &m->job->algorithms[m->algorithm],
	    SQFS_META);

	m->inodes.packer = m->listings.packer = m->other.packer = m->packer;
	m->starts = sys_calloc(m->units->count + 1, sizeof(*m->starts));
	m->places = sys_calloc(m->tree->count, sizeof(*m->places));
	m->types = sys_calloc(m->tree->count, sizeof(*m->types));
	return m->starts == NULL || m->places == NULL || m->types == NULL ?
	    -ENOMEM : rc;
}

static void
close_image(struct sqfs_image *m)
{
	packer_close(m->packer);
	sys_free(m->indices);
	sys_free(m->starts);
	sys_free(m->places);
	sys_free(m->types);
	sys_free(m);
}

int
sqfs_measure(const struct sqfs_tree *t, const struct sqfs_units *u,
    const struct fs_job *job, unsigned algorithm, struct sqfs_space *s)
{
	struct sqfs_image *m = sys_calloc(1, sizeof(*m));
	uint64_t *exports;
	int rc;

	if (m == NULL)
		return -ENOMEM;
	m->tree = t;
	m->units = u;
	m->job = job;
	m->algorithm = algorithm;
	exports = sys_calloc(t->inodes, sizeof(*exports));
	rc = exports == NULL ? -ENOMEM : open_image(m);
	if (rc == 0) {
		measure(m, exports, s);
		rc = m->rc;
	}
	sys_free(exports);
	close_image(m);
	return rc;
}
