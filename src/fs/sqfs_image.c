/*
 * sqfs_image.c - what files take in a squashfs image: its tables
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Inodes and listings are made as mksquashfs -all-root makes them and
 * compressed in their metadata blocks: all but the last digits of where large
 * files' data begin is as there.
 */
#include "sqfs.h"

#include "array.h"
#include "sqfs_table.h"
#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	LISTING_HEAD = 12, LISTING_MOST = 256, ENTRY = 8,
	NUMBER_FAR = 32767,
	SMALL_DIR = 65535,
	DIR = 1, REG, LINK, BLOCK, CHAR, FIFO, SOCKET, LONG = 7
};
#define NONE UINT32_MAX

struct index {
	uint32_t at;			/* in the listing */
	uint32_t block;			/* that it is in there */
	const char *name;
};

struct image {
	const struct sqfs_tree *tree;
	const struct sqfs_units *units;
	const struct fs_job *job;
	unsigned algorithm;
	struct packer *packer;
	uint64_t *starts;		/* of the units in the image */
	struct sqfs_place *places;		/* of the nodes' inodes */
	uint16_t *types;		/* of these */
	struct sqfs_table inodes, listings, other;
	struct index *indices;		/* of the directory in hand */
	size_t index_count, index_cap;
	int rc;
};

/* Data */

static uint32_t
size_of(const struct image *m, size_t unit)
{
	return m->units->sizes[unit * m->job->count + m->algorithm];
}

/* Where each unit begins, one behind the other; what all take. */
static uint64_t
place_units(struct image *m, uint64_t at)
{
	uint64_t first = at;

	for (size_t i = 0; i < m->units->count; i++) {
		m->starts[i] = at;
		at += size_of(m, i) & ~(uint32_t)SQFS_RAW;
	}
	return at - first;
}

/* Inodes */

static unsigned
type_of(const struct stat *st)
{
	switch (st->st_mode & S_IFMT) {
	case S_IFREG: return REG;
	case S_IFDIR: return DIR;
	case S_IFLNK: return LINK;
	case S_IFBLK: return BLOCK;
	case S_IFCHR: return CHAR;
	case S_IFIFO: return FIFO;
	default: return SOCKET;
	}
}

/* What all inodes begin with.  Owner and group are the root's. */
static void
put_head(struct image *m, size_t node, unsigned type)
{
	static const struct stat none = { .st_mode = S_IFDIR | 0755 };
	const struct sqfs_node *n = &m->tree->nodes[node];
	const struct stat *st = n->item == NULL ? &none : &n->item->st;
	struct sqfs_table *t = &m->inodes;

	m->places[node] = sqfs_place(t);
	m->types[node] = (uint16_t)(type > LONG ? type - LONG : type);
	sqfs_put16(t, type);
	sqfs_put16(t, st->st_mode & 07777);
	sqfs_put16(t, 0);
	sqfs_put16(t, 0);
	sqfs_put32(t, (uint64_t)st->st_mtime);
	sqfs_put32(t, n->number);
}

static uint64_t
holes_of(const struct image *m, const struct sqfs_node *n, uint64_t size)
{
	uint32_t block = m->job->params->block;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n->data.blocks; i++) {
		uint64_t left = size - (uint64_t)i * block;

		if (size_of(m, n->data.unit + i) == 0)
			sum += left < block ? left : block;
	}
	return sum;
}

static void
put_file(struct image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	uint64_t size = (uint64_t)n->item->st.st_size;
	uint64_t holes = holes_of(m, n, size);
	uint64_t start = n->data.blocks == 0 ? 0 : m->starts[n->data.unit];
	uint32_t fragment = !n->data.tail ? NONE :
	    m->units->fragment[n->data.unit] - 1;
	struct sqfs_table *t = &m->inodes;

	if (n->links == 1 && holes == 0 && size < NONE && start < NONE) {
		put_head(m, node, REG);
		sqfs_put32(t, start);
		sqfs_put32(t, fragment);
		sqfs_put32(t, n->data.tail_at);
		sqfs_put32(t, size);
	} else {
		put_head(m, node, REG + LONG);
		sqfs_put64(t, start);
		sqfs_put64(t, size);
		sqfs_put64(t, holes);
		sqfs_put32(t, n->links);
		sqfs_put32(t, fragment);
		sqfs_put32(t, n->data.tail_at);
		sqfs_put32(t, NONE);
	}
	for (uint32_t i = 0; i < n->data.blocks; i++)
		sqfs_put32(t, size_of(m, n->data.unit + i));
}

static void
put_link(struct image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	char target[PATH_MAX] = "";
	ssize_t size = readlinkat(m->job->list->roots[n->item->root],
	    n->item->path, target, sizeof(target));

	if (size < 0)		/* it is gone, or its path too long */
		size = n->item->st.st_size < PATH_MAX ?
		    n->item->st.st_size : PATH_MAX;
	put_head(m, node, LINK);
	sqfs_put32(&m->inodes, n->links);
	sqfs_put32(&m->inodes, (uint64_t)size);
	sqfs_put(&m->inodes, target, (size_t)size);
}

static void
put_other(struct image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	unsigned type = type_of(&n->item->st);

	put_head(m, node, type);
	sqfs_put32(&m->inodes, n->links);
	if (type == BLOCK || type == CHAR)
		sqfs_put32(&m->inodes, (uint64_t)major(n->item->st.st_rdev) << 8 |
		    minor(n->item->st.st_rdev));
}

/* Listings */

struct listing {
	uint64_t size;
	uint64_t indexed;		/* up to there */
	uint32_t dirs;			/* in it */
};

/* Whether another entry is too far behind what the index points to. */
static bool
is_far(const struct listing *l, uint64_t size, const char *name)
{
	return size + ENTRY + strlen(name) - l->indexed > SQFS_META;
}

/* How many entries from child on may be below one head. */
static uint32_t
run_length(const struct image *m, const struct listing *l, size_t child,
    size_t end)
{
	const struct sqfs_node *nodes = m->tree->nodes;
	uint32_t count = 0, block = m->places[nodes[child].owner].block;
	int64_t number = nodes[child].number;
	uint64_t size = l->size;

	for (size_t i = child; i < end && count < LISTING_MOST; i =
	    nodes[i].end, count++) {
		int64_t far = nodes[i].number - number;

		if (m->places[nodes[i].owner].block != block ||
		    far > NUMBER_FAR || far < -NUMBER_FAR - 1 ||
		    (count > 0 && is_far(l, size, nodes[i].name)))
			break;
		size += ENTRY + strlen(nodes[i].name);
	}
	return count;
}

static size_t
put_entry(struct image *m, size_t child, uint32_t number, struct listing *l)
{
	const struct sqfs_node *n = &m->tree->nodes[child];
	size_t len = strlen(n->name);

	sqfs_put16(&m->listings, m->places[n->owner].offset);
	sqfs_put16(&m->listings, n->number - number);
	sqfs_put16(&m->listings, m->types[n->owner]);
	sqfs_put16(&m->listings, len - 1);
	sqfs_put(&m->listings, n->name, len);
	l->size += ENTRY + len;
	l->dirs += m->types[n->owner] == DIR;
	return n->end;
}

static int
add_index(struct image *m, const struct listing *l, const char *name)
{
	void *indices = m->indices;
	int rc = array_grow(&indices, m->index_count, &m->index_cap,
	    sizeof(*m->indices));

	m->indices = indices;
	if (rc == 0)
		m->indices[m->index_count++] = (struct index){
		    (uint32_t)l->size, sqfs_place(&m->listings).block, name };
	return rc;
}

static void
put_listing(struct image *m, size_t dir, struct listing *l)
{
	const struct sqfs_node *nodes = m->tree->nodes;
	size_t child = dir + 1, end = nodes[dir].end;

	m->index_count = 0;
	while (child < end && m->rc == 0) {
		uint32_t number = nodes[child].number, count;
		bool far = is_far(l, l->size, nodes[child].name);

		if (far)
			m->rc = add_index(m, l, nodes[child].name);
		l->size += LISTING_HEAD;
		if (far || child == dir + 1)
			l->indexed = l->size;
		count = run_length(m, l, child, end);
		sqfs_put32(&m->listings, count - 1);
		sqfs_put32(&m->listings, m->places[nodes[child].owner].block);
		sqfs_put32(&m->listings, number);
		while (count-- > 0)
			child = put_entry(m, child, number, l);
	}
}

static void
put_index(struct image *m)
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

static void
put_dir(struct image *m, size_t node)
{
	const struct sqfs_node *n = &m->tree->nodes[node];
	uint32_t parent = node == 0 ? m->tree->inodes + 1 :
	    m->tree->nodes[n->parent].number;
	struct sqfs_place at = sqfs_place(&m->listings);
	struct listing l = { .size = 0 };
	struct sqfs_table *t = &m->inodes;

	put_listing(m, node, &l);
	if (l.size == 0)
		at = (struct sqfs_place){ 0, 0 };
	if (m->index_count == 0 && l.size + 3 <= SMALL_DIR) {
		put_head(m, node, DIR);
		sqfs_put32(t, at.block);
		sqfs_put32(t, l.dirs + 2);
		sqfs_put16(t, l.size + 3);
		sqfs_put16(t, at.offset);
		sqfs_put32(t, parent);
		return;
	}
	put_head(m, node, DIR + LONG);
	sqfs_put32(t, l.dirs + 2);
	sqfs_put32(t, l.size + 3);
	sqfs_put32(t, at.block);
	sqfs_put32(t, parent);
	sqfs_put16(t, m->index_count);
	sqfs_put16(t, at.offset);
	sqfs_put32(t, NONE);
	put_index(m);
}

/* All inodes: a directory's behind what is in it. */
static void
put_inodes(struct image *m)
{
	const struct sqfs_node *nodes = m->tree->nodes;
	size_t in = 0;

	for (size_t i = 1; i <= m->tree->count; i++) {
		while (in != 0 && nodes[in].end == i) {
			put_dir(m, in);
			in = nodes[in].parent;
		}
		if (i == m->tree->count)
			break;
		if (S_ISDIR(nodes[i].item->st.st_mode))
			in = i;
		else if (nodes[i].owner != i)
			continue;
		else if (S_ISREG(nodes[i].item->st.st_mode))
			put_file(m, i);
		else if (S_ISLNK(nodes[i].item->st.st_mode))
			put_link(m, i);
		else
			put_other(m, i);
	}
	put_dir(m, 0);
}

/* What is behind these */

static uint64_t
fragments_size(struct image *m)
{
	struct sqfs_table *t = &m->other;

	for (size_t i = 0; i < m->units->count; i++) {
		if (m->units->fragment[i] == 0)
			continue;
		sqfs_put64(t, m->starts[i]);
		sqfs_put32(t, size_of(m, i));
		sqfs_put32(t, 0);
	}
	return sqfs_table_end(t, true);
}

static uint64_t
exports_size(struct image *m, uint64_t *places)
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
ids_size(struct image *m)
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
measure(struct image *m, uint64_t *exports, struct sqfs_space *s)
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

int
sqfs_measure(const struct sqfs_tree *t, const struct sqfs_units *u,
    const struct fs_job *job, unsigned algorithm, struct sqfs_space *s)
{
	struct image *m = sys_calloc(1, sizeof(*m));
	uint64_t *exports = sys_calloc(t->inodes, sizeof(*exports));
	int rc = m == NULL || exports == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		m->tree = t;
		m->units = u;
		m->job = job;
		m->algorithm = algorithm;
		m->starts = sys_calloc(u->count + 1, sizeof(*m->starts));
		m->places = sys_calloc(t->count, sizeof(*m->places));
		m->types = sys_calloc(t->count, sizeof(*m->types));
		rc = packer_open(&m->packer, &job->algorithms[algorithm],
		    SQFS_META);
		m->inodes.packer = m->listings.packer = m->other.packer =
		    m->packer;
		if (m->starts == NULL || m->places == NULL || m->types == NULL)
			rc = -ENOMEM;
	}
	if (rc == 0) {
		measure(m, exports, s);
		rc = m->rc;
	}
	if (m != NULL) {
		sys_free(m->indices);
		packer_close(m->packer);
		sys_free(m->starts);
		sys_free(m->places);
		sys_free(m->types);
	}
	sys_free(exports);
	sys_free(m);
	return rc;
}
