/*
 * sq_reader.c - the names, inodes and data of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sq_reader.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

struct sq_decoder {
	const struct sq_image *m;
	void *codec;
	struct image_packed packed;
};

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

/*
 * Reads the compressor's options: one uncompressed metadata block.
 */
static int
read_settings(struct sq_image *m, struct sq_codec *c)
{
	const struct sq_super *s = &m->q->super;
	struct sq_meta t = { 0 };
	size_t n = 0;
	int rc = (s->flags & SQUASHFS_OPTIONS) == 0 ? 0 :
	    sq_meta_read(&t, s, SQUASHFS_SUPER_B, SQUASHFS_SUPER_B +
	    SQUASHFS_META_HEADER_B + SQUASHFS_META_B, 1);

	if (rc == 0 && t.count > 0) {
		sq_meta_unpack(&t, 0, c);
		n = t.len[0] < SQ_SETTINGS_MAX ? t.len[0] : SQ_SETTINGS_MAX;
		memcpy(m->facts.settings, t.data, n);
	}
	m->facts.settings_B = n;
	sq_meta_free(&t, s);
	return rc;
}

/*
 * Reads the owners even if sq_check() found damage, because some of them may be
 * intact.
 */
static int
read_owners(struct sq_image *m, struct sq_codec *c)
{
	const struct sq_super *s = &m->q->super;
	size_t need = (size_t)s->id_count * SQUASHFS_ID_B;
	struct sq_meta t = { 0 };
	uint8_t p[SQUASHFS_POINTER_B];
	const uint8_t *at = NULL;
	int rc = sq_read(s, s->ids, p, sizeof(p));

	if (rc == 0)
		rc = sq_table_read(&t, s, c, load_le64(p), s->ids);
	if (rc == 0 && t.count > 0 && need > 0)
		at = sq_meta_get(&t, 0, 0, need);
	if (at != NULL) {
		m->ids = sys_malloc(need);
		rc = m->ids == NULL ? -ENOMEM : 0;
	}
	for (uint32_t i = 0; m->ids != NULL && i < s->id_count; i++)
		m->ids[i] = load_le32(at + (size_t)i * SQUASHFS_ID_B);
	sq_meta_free(&t, s);
	return rc;
}

static void
note_facts(struct sq_image *m)
{
	const struct sq_super *s = &m->q->super;

	m->facts = (struct sq_facts){ .compressor = s->compressor,
		.block = s->block, .flags = s->flags,
		.inodes = s->inode_count, .fragments = s->fragment_count,
		.ids = s->id_count, .used_B = s->length, .mtime = s->mtime,
		.exports = s->exports != SQUASHFS_NO_TABLE,
		.xattrs = s->xattrs != SQUASHFS_NO_TABLE };
}

/* Reads the tables that are not needed to read files. */
static int
read_rest(struct sq_image *m, struct tell *t)
{
	const struct sq_super *s = &m->q->super;
	struct sq_codec *c;
	int rc = sq_codec_open(&c, s->compressor);

	if (rc != 0)
		return rc;
	rc = tell_trouble(t, s->ids, read_owners(m, c));
	if (rc == 0)
		rc = tell_trouble(t, SQUASHFS_SUPER_B, read_settings(m, c));
	sq_codec_close(c);
	return rc;
}

int
sq_open(struct sq_image **out, int fd, uint64_t offset, unsigned threads,
    uint64_t memory, sq_tell_fn *fn, void *arg, const char **why)
{
	struct sq_image *m = sys_calloc(1, sizeof(*m));
	struct tell t = { fn, arg };
	int rc;

	*out = m;
	*why = NULL;
	if (m == NULL)
		return -ENOMEM;
	m->memory_left = memory;
	m->memory.left = &m->memory_left;
	rc = image_open(&m->image, &sq_image_source, fd, offset, &m->memory,
	    threads, tell_table, &t, why);
	m->q = m->image.own;
	if (rc != 0)
		goto fail;
	note_facts(m);
	rc = read_rest(m, &t);
	if (rc != 0)
		goto fail;
	rc = sq_names_make(m);
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
	sq_names_free(m);
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

	return sq_dir_of(m, id) != NULL ? m->dir_end[id] : number + 1;
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
	/* without a table, Linux ignores it */
	e->xattr = m->facts.xattrs ? a.xattr : SQUASHFS_NONE;
	e->target = (const char *)a.target;
	e->size = a.target_len;
}

static void
get_dir(const struct sq_image *m, const struct image_dir *d,
    struct sq_entry *e)
{
	struct sq_inode n;

	e->name = (const char *)d->name;
	e->name_len = d->name_len;
	e->parent = m->dir_at[d->parent];
	e->mode = 0040755;
	get_inode(m, d->ref, e);
	/* it was added as a directory, so ignore the type in the inode */
	if ((e->mode & 0170000) != 0040000)
		e->mode = 0040755;
	if (sq_inode_get(&m->q->inodes, &m->q->super, d->ref, &n) == 0)
		e->size = n.size;
	e->why = d->damage;
	e->lost = d->lost;
}

static void
get_file(const struct sq_image *m, const struct image_file *f,
    struct sq_entry *e)
{
	e->name = (const char *)f->name;
	e->name_len = f->name_len;
	e->parent = m->dir_at[f->dir];
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

void
sq_get(const struct sq_image *m, size_t number, struct sq_entry *e)
{
	uint32_t id = m->order[number];
	const struct image_dir *d = sq_dir_of(m, id);

	*e = (struct sq_entry){ .first = m->first[number],
		.fragment = SQUASHFS_NONE, .xattr = SQUASHFS_NONE,
		.links = 1 };
	if (d != NULL)
		get_dir(m, d, e);
	else
		get_file(m, sq_file_of(m, id), e);
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
