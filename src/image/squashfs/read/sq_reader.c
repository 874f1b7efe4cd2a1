/*
 * sq_reader.c - the names, inodes and data of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The id of a name: a directory's index or, from dir_count onward, the index of
 * a file; there is no file 0.
 */
struct sq_image {
	struct image image;
	struct sq_tables *q;		/* image.own */
	struct image_memory memory;
	uint64_t memory_left;
	struct sq_facts facts;
	uint32_t *ids;			/* owners; NULL: unknown */
	/* by number */
	uint32_t *order;		/* ids */
	uint32_t *first;
	size_t count;
	/* by directory index */
	uint32_t *dir_at;		/* its number */
	uint32_t *dir_end;
};

/* Returns the directory or file with the given number. */
static const struct image_dir *
dir_of(const struct sq_image *m, uint32_t id)
{
	return id < m->image.dir_count ? &m->image.dir[id] : NULL;
}

static const struct image_file *
file_of(const struct sq_image *m, uint32_t id)
{
	return &m->image.file[id - m->image.dir_count + 1];
}

struct sq_decoder {
	const struct sq_image *m;
	void *codec;
	struct image_packed packed;
};

/* Names */

static const uint8_t *
name_of(const struct sq_image *m, uint32_t id, size_t *len)
{
	const struct image_dir *d = dir_of(m, id);

	*len = d != NULL ? d->name_len : file_of(m, id)->name_len;
	return d != NULL ? d->name : file_of(m, id)->name;
}

static uint32_t
parent_of(const struct sq_image *m, uint32_t id)
{
	const struct image_dir *d = dir_of(m, id);

	return d != NULL ? d->parent : file_of(m, id)->dir;
}

static int
by_entry_name(const void *a, const void *b, void *arg)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	size_t n, k;
	const uint8_t *s = name_of(arg, x, &n), *t = name_of(arg, y, &k);
	int order = memcmp(s, t, n < k ? n : k);

	if (order != 0 || n != k)
		return order != 0 ? order : n < k ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Sorts the names: they are grouped by their directory, each group is sorted,
 * and then the tree is walked depth first.  Each directory has the index of its
 * parent, so no stack is needed.  Returns 0, -EFBIG, -EDQUOT or -ENOMEM.
 */
static int
sort_names(struct sq_image *m)
{
	size_t dirs = m->image.dir_count, slots = 64, *from, *next;
	uint32_t *at, *table, dir = 0, n = 0;
	int rc;

	/* file 0 does not exist */
	m->count = dirs + m->image.file_count - 1;
	if (m->count >= UINT32_MAX)
		return -EFBIG;
	rc = image_take(m->image.memory, m->count * 7 * sizeof(uint32_t) +
	    dirs * 3 * sizeof(size_t));
	if (rc != 0)
		return rc;
	while (slots < 2 * m->count)
		slots *= 2;
	m->order = sys_malloc(m->count * sizeof(*m->order));
	m->first = sys_malloc(m->count * sizeof(*m->first));
	m->dir_at = sys_malloc(dirs * sizeof(*m->dir_at));
	m->dir_end = sys_malloc(dirs * sizeof(*m->dir_end));
	/* the names of directory i are at[from[i]..from[i + 1]) */
	at = sys_malloc(m->count * sizeof(*at));
	from = sys_calloc(dirs + 2, sizeof(*from));
	next = sys_malloc(dirs * sizeof(*next));
	/* hash table of numbers by inode; 0, the root, means free */
	table = sys_calloc(slots, sizeof(*table));
	rc = -ENOMEM;
	if (m->order == NULL || m->first == NULL || m->dir_at == NULL ||
	    m->dir_end == NULL || at == NULL || from == NULL || next == NULL ||
	    table == NULL)
		goto out;

	for (uint32_t id = 1; id < m->count; id++)
		from[parent_of(m, id) + (size_t)2]++;
	for (size_t i = 2; i < dirs + 2; i++)
		from[i] += from[i - 1];
	for (uint32_t id = 1; id < m->count; id++)
		at[from[parent_of(m, id) + (size_t)1]++] = id;
	for (size_t i = 0; i < dirs; i++) {
		next[i] = from[i];
		qsort_r(at + from[i], from[i + 1] - from[i], sizeof(*at),
		    by_entry_name, m);
	}

	m->order[n++] = 0;
	m->dir_at[0] = 0;
	for (;;) {
		if (next[dir] < from[dir + (size_t)1]) {
			uint32_t id = at[next[dir]++];

			if (dir_of(m, id) != NULL) {
				m->dir_at[id] = n;
				dir = id;
			}
			m->order[n++] = id;
			continue;
		}
		m->dir_end[dir] = n;
		if (dir == 0)
			break;
		dir = m->image.dir[dir].parent;
	}

	/* the first name of each inode that is not a directory */
	for (n = 0; n < m->count; n++) {
		uint64_t ref;
		size_t i;

		m->first[n] = n;
		if (dir_of(m, m->order[n]) != NULL)
			continue;
		ref = file_of(m, m->order[n])->ref;
		i = (size_t)(ref * 0x9e3779b97f4a7c15U >> 32) & (slots - 1);
		while (table[i] != 0 &&
		    file_of(m, m->order[table[i]])->ref != ref)
			i = (i + 1) & (slots - 1);
		if (table[i] == 0)
			table[i] = n;
		m->first[n] = table[i];
	}
	rc = 0;
out:
	sys_free(at);
	sys_free(from);
	sys_free(next);
	sys_free(table);
	return rc;
}

int
sq_path(const struct sq_image *m, size_t number, char **path, size_t *cap)
{
	uint32_t id = m->order[number];
	size_t len = 1, n;
	char *p = *path;

	for (uint32_t i = id; i != 0; i = parent_of(m, i)) {
		name_of(m, i, &n);
		len += n + 1;
	}
	if (len > *cap) {
		p = sys_realloc(*path, 2 * len);
		if (p == NULL)
			return -ENOMEM;
		*path = p;
		*cap = 2 * len;
	}
	/* no slash before the first name */
	len -= id == 0 ? 1 : 2;
	p[len] = '\0';
	for (uint32_t i = id; i != 0; i = parent_of(m, i)) {
		const uint8_t *name = name_of(m, i, &n);

		len -= n;
		memcpy(p + len, name, n);
		if (len > 0)
			p[--len] = '/';
	}
	return 0;
}

/* Opening */

int
sq_find(int fd, uint64_t *offset)
{
	int rc = sq_probe(fd, 0);

	*offset = 0;
	return rc != 0 ? rc : sq_find_appended(fd, offset);
}

struct tell {
	sq_tell_fn *fn;
	void *arg;
};

static int
tell_table(void *arg, uint64_t at, const char *why)
{
	struct tell *t = arg;

	t->fn(t->arg, at, why);
	return 0;
}

/*
 * Handles an error in a table that sq_check() could read.  -ENOMEM is returned;
 * any other error is reported, and the rest of the image is read.
 */
static int
tell_trouble(struct tell *t, uint64_t at, int rc)
{
	if (rc == 0 || image_no_memory(rc))
		return rc;
	if (rc != -EBADMSG && rc != -ENODATA)
		t->fn(t->arg, at, strerror(-rc));
	return 0;
}

/* Reads the tables that are not needed to read files. */
static int
read_rest(struct sq_image *m, struct tell *tell)
{
	const struct sq_super *s = &m->q->super;
	size_t need = (size_t)s->id_count * SQUASHFS_ID_B, n = 0;
	struct sq_meta owners = { 0 }, settings = { 0 };
	uint8_t p[SQUASHFS_POINTER_B];
	const uint8_t *at = NULL;
	struct sq_codec *c;
	int rc = sq_codec_open(&c, s->compressor);

	if (rc != 0)
		return rc;
	/* even if sq_check() found damage: some owners may be intact */
	rc = sq_read(s, s->ids, p, sizeof(p));
	if (rc == 0)
		rc = sq_table_read(&owners, s, c, load_le64(p), s->ids);
	if (rc == 0 && owners.count > 0 && need > 0)
		at = sq_meta_get(&owners, 0, 0, need);
	if (at != NULL) {
		m->ids = sys_malloc(need);
		rc = m->ids == NULL ? -ENOMEM : 0;
		for (uint32_t i = 0; rc == 0 && i < s->id_count; i++)
			m->ids[i] = load_le32(at + (size_t)i * SQUASHFS_ID_B);
	}
	sq_meta_free(&owners, s);
	rc = tell_trouble(tell, s->ids, rc);
	if (rc != 0 || (s->flags & SQUASHFS_OPTIONS) == 0)
		goto out;

	/* the compressor's options: one uncompressed metadata block */
	rc = sq_meta_read(&settings, s, SQUASHFS_SUPER_B, SQUASHFS_SUPER_B +
	    SQUASHFS_META_HEADER_B + SQUASHFS_META_B, 1);
	if (rc == 0 && settings.count > 0) {
		sq_meta_unpack(&settings, 0, c);
		n = settings.len[0] < SQ_SETTINGS_MAX ? settings.len[0] :
		    SQ_SETTINGS_MAX;
		memcpy(m->facts.settings, settings.data, n);
		m->facts.settings_B = n;
	}
	sq_meta_free(&settings, s);
	rc = tell_trouble(tell, SQUASHFS_SUPER_B, rc);
out:
	sq_codec_close(c);
	return rc;
}

int
sq_open(struct sq_image **out, int fd, uint64_t offset, unsigned threads,
    uint64_t memory, sq_tell_fn *fn, void *arg, const char **why)
{
	struct sq_image *m = sys_calloc(1, sizeof(*m));
	struct tell t = { fn, arg };
	const struct sq_super *s;
	int rc;

	*out = m;
	*why = NULL;
	if (m == NULL)
		return -ENOMEM;
	m->memory_left = memory;
	m->memory.left = &m->memory_left;
	rc = image_open(&m->image, &sq_image_source, fd, offset, &m->memory,
	    NULL, threads, tell_table, &t, why);
	m->q = m->image.own;
	if (rc != 0)
		goto fail;
	s = &m->q->super;
	m->facts = (struct sq_facts){ .compressor = s->compressor,
		.block = s->block, .flags = s->flags,
		.inodes = s->inode_count, .fragments = s->fragment_count,
		.ids = s->id_count, .used_B = s->length, .mtime = s->mtime,
		.exports = s->exports != SQUASHFS_NO_TABLE,
		.xattrs = s->xattrs != SQUASHFS_NO_TABLE,
		.xattrs_unused = s->xattrs_unused };
	rc = read_rest(m, &t);
	if (rc == 0)
		rc = sort_names(m);
	if (rc == 0)
		return 0;
fail:
	sq_close(m);
	*out = NULL;
	return rc;
}

void
sq_close(struct sq_image *m)
{
	if (m == NULL)
		return;
	sys_free(m->order);
	sys_free(m->first);
	sys_free(m->dir_at);
	sys_free(m->dir_end);
	sys_free(m->ids);
	image_close(&m->image);
	sys_free(m);
}

uint64_t
sq_memory_left(const struct sq_image *m)
{
	return m->memory_left;
}

const struct sq_facts *
sq_facts(const struct sq_image *m)
{
	return &m->facts;
}

size_t
sq_count(const struct sq_image *m)
{
	return m->count;
}

size_t
sq_end(const struct sq_image *m, size_t number)
{
	uint32_t id = m->order[number];

	return dir_of(m, id) != NULL ? m->dir_end[id] : number + 1;
}

static void
get_inode(const struct sq_image *m, uint64_t ref, struct sq_entry *e)
{
	const struct sq_super *s = &m->q->super;
	struct sq_attr a;

	if (sq_attr_get(&m->q->inodes, ref, &a) != 0)
		return;
	e->mode = a.mode;
	e->has_owner = m->ids != NULL && a.uid < s->id_count &&
	    a.gid < s->id_count;
	e->uid = e->has_owner ? m->ids[a.uid] : 0;
	e->gid = e->has_owner ? m->ids[a.gid] : 0;
	e->mtime = a.mtime;
	e->links = a.links;
	e->rdev = a.rdev;
	e->dense = a.sparse == 0;
	/* without a table, Linux ignores it */
	e->xattr = m->facts.xattrs ? a.xattr : SQUASHFS_NONE;
	e->target = (const char *)a.target;
	e->size = a.target_len;
}

void
sq_get(const struct sq_image *m, size_t number, struct sq_entry *e)
{
	uint32_t id = m->order[number];
	const struct image_dir *d = dir_of(m, id);
	const struct image_file *f;
	struct sq_inode n;

	*e = (struct sq_entry){ .first = m->first[number],
		.fragment = SQUASHFS_NONE, .xattr = SQUASHFS_NONE,
		.links = 1, .parent = m->dir_at[parent_of(m, id)] };
	e->name = (const char *)name_of(m, id, &e->name_len);
	if (d != NULL) {
		e->mode = 0040755;
		get_inode(m, d->ref, e);
		/* it was added as one, so ignore the type in the inode */
		if ((e->mode & 0170000) != 0040000)
			e->mode = 0040755;
		if (sq_inode_get(&m->q->inodes, &m->q->super, d->ref, &n) == 0)
			e->size = n.size;
		e->why = d->damage;
		e->lost = d->lost;
		return;
	}
	f = file_of(m, id);
	e->why = f->flaw != SQ_GOOD ? sq_flaw_text(f->flaw) : NULL;
	e->lost = f->unreadable;
	if (f->flaw == SQ_BAD_INODE || f->flaw == SQ_BAD_DIR)
		return;
	get_inode(m, f->ref, e);
	if (f->type != WALK_FILE)
		return;
	e->size = f->size;
	e->start = f->start;
	e->sizes = f->map;
	e->blocks = f->blocks;
	e->fragment = f->fragment;
	e->tail_at = f->tail_at;
}

int
sq_xattrs(const struct sq_image *m, uint32_t index, sq_xattr_fn *fn,
    void *arg)
{
	uint64_t parsed = 0;

	return sq_xattrs_parse(m->q, index, fn, arg, &parsed);
}

/* Data */

uint32_t
sq_word(const struct sq_entry *e, uint32_t k)
{
	return load_le32(e->sizes + 4 * (size_t)k);
}

uint32_t
sq_block_len(const struct sq_image *m, const struct sq_entry *e, uint32_t k)
{
	uint64_t left = e->size - (uint64_t)k * m->facts.block;

	return left < m->facts.block ? (uint32_t)left : m->facts.block;
}

uint32_t
sq_tail_len(const struct sq_image *m, const struct sq_entry *e)
{
	return e->fragment == SQUASHFS_NONE ? 0 :
	    (uint32_t)(e->size - (uint64_t)e->blocks * m->facts.block);
}

uint64_t
sq_stored(const struct sq_entry *e)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < e->blocks; k++)
		sum += sq_word_len(sq_word(e, k));
	return sum;
}

void
sq_fragment(const struct sq_image *m, uint32_t number, uint64_t *at,
    uint32_t *word)
{
	*at = m->q->fragments[number].start;
	*word = m->q->fragments[number].size;
}

int
sq_decoder_open(struct sq_decoder **out, const struct sq_image *m)
{
	struct sq_decoder *d = sys_calloc(1, sizeof(*d));
	int rc;

	*out = d;
	if (d == NULL)
		return -ENOMEM;
	d->m = m;
	d->packed.data = sys_malloc(m->facts.block);
	rc = d->packed.data == NULL ? -ENOMEM :
	    sq_image_source.decoder_open(&m->image, &d->codec);
	if (rc == 0)
		return 0;
	sq_decoder_close(d);
	*out = NULL;
	return rc;
}

void
sq_decoder_close(struct sq_decoder *d)
{
	if (d == NULL)
		return;
	sq_image_source.decoder_close(d->codec);
	sys_free(d->packed.data);
	sys_free(d);
}

int64_t
sq_unpack(struct sq_decoder *d, uint64_t at, uint32_t word, size_t want,
    uint8_t *out, const char **why)
{
	return image_unpack(&d->m->image, d->codec, &d->packed, at,
	    sq_split_word(word), want, out, why);
}
