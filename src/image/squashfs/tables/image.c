/*
 * image.c - writing a squashfs 4.0 image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "xattrs.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/write/record.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/layout.h"

#include <errno.h>
#include <sqfs/compressor.h>
#include <sqfs/error.h>
#include <sqfs/frag_table.h>
#include <sqfs/id_table.h>
#include <sqfs/io.h>
#include <sqfs/table.h>
#include <string.h>
#include <unistd.h>

/* The file and the compressor that libsquashfs calls */

/* The image as a libsquashfs file; the library only appends to it. */
struct lib_file {
	sqfs_file_t base;
	int fd;
	uint64_t end;
	int err;			/* the first error, as -errno */
};

/* One of our codecs; if it is NULL, data is stored uncompressed. */
struct lib_codec {
	sqfs_compressor_t base;
	struct sqw_codec *codec;
};

/* Does nothing: objects belong to their creator. */
static void
keep_object(sqfs_object_t *object)
{
	(void)object;
}

static int
read_at(sqfs_file_t *base, sqfs_u64 offset, void *buf, size_t size)
{
	struct lib_file *f = (struct lib_file *)base;
	ssize_t n = fdio_pread(f->fd, buf, size, (off_t)offset);

	if (n < 0 && f->err == 0)
		f->err = (int)n;
	return n < 0 ? SQFS_ERROR_IO : (size_t)n < size ?
	    SQFS_ERROR_OUT_OF_BOUNDS : 0;
}

/* All writes append to the file at fd's offset. */
static int
write_at(sqfs_file_t *base, sqfs_u64 offset, const void *buf, size_t size)
{
	struct lib_file *f = (struct lib_file *)base;
	int rc = offset == f->end ? fdio_write(f->fd, buf, size) : -ESPIPE;

	if (rc != 0) {
		f->err = f->err != 0 ? f->err : rc;
		return SQFS_ERROR_IO;
	}
	f->end += size;
	return 0;
}

static sqfs_u64
get_size(const sqfs_file_t *base)
{
	return ((const struct lib_file *)base)->end;
}

static int
no_truncate(sqfs_file_t *base, sqfs_u64 size)
{
	(void)base;
	(void)size;
	return SQFS_ERROR_UNSUPPORTED;
}

static void
file_init(struct lib_file *f, int fd, uint64_t end)
{
	*f = (struct lib_file){ .base = { .base = { .destroy = keep_object },
		.read_at = read_at, .write_at = write_at,
		.get_size = get_size, .truncate = no_truncate },
		.fd = fd, .end = end };
}

static sqfs_s32
do_block(sqfs_compressor_t *base, const sqfs_u8 *in, sqfs_u32 size,
    sqfs_u8 *out, sqfs_u32 room)
{
	struct lib_codec *c = (struct lib_codec *)base;

	return c->codec == NULL ? 0 : (sqfs_s32)sqw_codec_pack(c->codec, in,
	    size, out, room);
}

/* Does nothing: sqt_image_begin() writes the options. */
static int
no_options(sqfs_compressor_t *base, sqfs_file_t *file)
{
	(void)base;
	(void)file;
	return 0;
}

static void
get_configuration(const sqfs_compressor_t *base,
    sqfs_compressor_config_t *config)
{
	(void)base;
	memset(config, 0, sizeof(*config));
}

static void
codec_init(struct lib_codec *c, struct sqw_codec *codec)
{
	*c = (struct lib_codec){ .base = { .base = { .destroy = keep_object },
		.get_configuration = get_configuration,
		.write_options = no_options, .read_options = no_options,
		.do_block = do_block }, .codec = codec };
}

int
sqt_error(int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case SQFS_ERROR_ALLOC:
		return -ENOMEM;
	case SQFS_ERROR_UNSUPPORTED:
		return -ENOTSUP;
	case SQFS_ERROR_OVERFLOW:
		return -EFBIG;
	default:
		return -EIO;
	}
}

/* Returns the error of a write, or else of the library. */
static int
file_error(const struct lib_file *f, int rc)
{
	return rc != 0 && f->err != 0 ? f->err : sqt_error(rc);
}

/* The image */

/* Writes the compressor options.  Returns their size. */
static size_t
settings_of(const struct sqt_image_options *o, uint8_t s[SQW_SETTINGS_MAX])
{
	return sqw_settings_more(o->data->method, o->data->level,
	    o->data->block, o->data->dictionary, o->strategies, s);
}

int64_t
sqt_image_begin(int fd, const struct sqt_image_options *o)
{
	uint8_t head[SQUASHFS_SUPER_B + SQUASHFS_META_HEADER_B +
	    SQW_SETTINGS_MAX] = { 0 };
	uint8_t *at = head + SQUASHFS_SUPER_B;
	size_t n = settings_of(o, at + SQUASHFS_META_HEADER_B);
	size_t len = SQUASHFS_SUPER_B;
	off_t start = o->streamed ? 0 : sys_lseek(fd, (off_t)o->offset,
	    SEEK_SET);
	int rc;

	if (start < 0)
		return start;
	if (o->streamed)
		store_le32(head, SQUASHFS_STREAMED);
	if (n > 0) {
		store_le16(at, (uint16_t)(n | SQUASHFS_META_RAW));
		len += SQUASHFS_META_HEADER_B + n;
	}
	rc = fdio_write(fd, head, len);
	return rc != 0 ? rc : (int64_t)len;
}

/* The state while writing the tables, which follow the data. */
struct ending {
	const struct sqt_image_options *o;
	const struct sqw_data *d;
	struct sqt_xattrs *xattrs;	/* NULL: omitted */
	struct sqw_tree *tree;
	struct lib_file file;
	struct lib_codec codec;		/* for everything except inodes */
	struct sqw_codec *pack;
	sqfs_id_table_t *ids;
	uint32_t last_id;
	uint16_t last_index;
	bool id_known;
	int id_err;
	sqfs_super_t super;
	struct sqw_layout layout;
	/* kept until the inodes are written */
	uint8_t *listings;
	size_t listings_B, listings_cap;
};

static uint32_t
unit_size(const void *arg, uint32_t unit)
{
	return ((const struct ending *)arg)->d->sizes[unit];
}

static uint64_t
unit_start(const void *arg, uint32_t unit)
{
	return ((const struct ending *)arg)->d->starts[unit];
}

static uint32_t
unit_fragment(const void *arg, uint32_t unit)
{
	return ((const struct ending *)arg)->d->fragment[unit];
}

/*
 * Consecutive inodes often share an owner, but the library searches its whole
 * table, so the last result is cached.
 */
static uint16_t
id_of(const void *arg, uint32_t id)
{
	struct ending *e = (struct ending *)(uintptr_t)arg;
	int rc;

	if (e->id_known && e->last_id == id)
		return e->last_index;
	rc = sqfs_id_table_id_to_index(e->ids, id, &e->last_index);
	/* the library accepts one more than the superblock can count */
	if (rc == SQFS_ERROR_OVERFLOW ||
	    (rc == 0 && e->last_index == SQUASHFS_IDS_MAX))
		e->id_err = -EUSERS;
	else if (rc != 0 && e->id_err == 0)
		e->id_err = sqt_error(rc);
	e->last_id = id;
	e->id_known = rc == 0;
	return e->last_index;
}

static uint32_t
xattr_of(const void *arg, uint32_t set)
{
	return sqt_xattrs_number(((const struct ending *)arg)->xattrs, set);
}

static size_t
pack_table(void *arg, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	struct ending *e = arg;

	return sqw_codec_pack(e->pack, in, len, out, cap);
}

static int
write_block(void *arg, const uint8_t *block, size_t len)
{
	struct ending *e = arg;
	int rc = fdio_write(e->file.fd, block, len);

	e->file.end += rc == 0 ? len : 0;
	return rc;
}

static int
keep_listings(void *arg, const uint8_t *block, size_t len)
{
	struct ending *e = arg;
	void *listings = e->listings;
	int rc = array_reserve(&listings, e->listings_B + len,
	    &e->listings_cap, 1);

	e->listings = listings;
	if (rc != 0)
		return rc;
	memcpy(e->listings + e->listings_B, block, len);
	e->listings_B += len;
	return 0;
}

static int
write_layout(struct ending *e, struct sqt_image_space *space)
{
	struct sqw_table_ops ops = { .arg = e,
		.pack = e->o->raw_inodes ? NULL : pack_table };
	struct sqw_layout *l = &e->layout;
	int rc;

	l->tree = e->tree;
	l->block = e->o->data->block;
	l->gensquashfs = e->o->gensquashfs;
	l->large_dirs_long = e->o->large_dirs_long;
	if (l->gensquashfs)
		sqw_tree_renumber(e->tree);
	l->size_of = unit_size;
	l->start_of = unit_start;
	l->fragment_of = unit_fragment;
	l->id_of = id_of;
	l->xattr_of = xattr_of;
	l->arg = e;
	l->inodes.ops = l->listings.ops = ops;
	l->inodes.ops.write = write_block;
	l->listings.ops.write = keep_listings;
	e->super.inode_table_start = e->file.end;
	rc = sqw_layout_make(l);
	if (rc == 0)
		rc = e->id_err;
	if (rc != 0)
		return rc;
	e->super.directory_table_start = e->file.end;
	rc = fdio_write(e->file.fd, e->listings, e->listings_B);
	if (rc != 0)
		return rc;
	e->file.end += e->listings_B;
	e->super.root_inode_ref = sqw_layout_ref(l, 0);
	space->inodes_B = l->inodes.size;
	space->listings_B = l->listings.size;
	space->raw_inodes_B = l->inodes.raw_size;
	space->raw_listings_B = l->listings.raw_size;
	return 0;
}

/*
 * Writes the tables of fragments, inode numbers, owners and attributes, in this
 * order.
 */
static int
write_tables(struct ending *e, struct sqt_image_space *space)
{
	const struct sqt_image_options *o = e->o;
	const struct sqw_data *d = e->d;
	sqfs_file_t *file = &e->file.base;
	sqfs_compressor_t *codec = &e->codec.base;
	uint64_t start = e->file.end;
	size_t inodes = e->tree->inodes;
	sqfs_frag_table_t *fragments;
	uint32_t index;
	uint8_t *refs;
	int rc;

	fragments = sqfs_frag_table_create(0);
	if (fragments == NULL)
		return -ENOMEM;
	rc = 0;
	for (size_t i = 0; rc == 0 && i < d->units; i++)
		if (d->fragment[i] != SQUASHFS_NONE)
			rc = sqfs_frag_table_append(fragments, d->starts[i],
			    d->sizes[i], &index);
	codec_init(&e->codec, o->data->raw_fragments ? NULL : e->pack);
	if (rc == 0)
		rc = sqfs_frag_table_write(fragments, file, &e->super, codec);
	/* mksquashfs writes the table even without fragments */
	if (rc == 0 && o->data->exact && d->fragments == 0)
		e->super.fragment_table_start = start;
	sqfs_destroy(fragments);
	if (rc != 0)
		return file_error(&e->file, rc);

	/* each inode's reference, in order of inode number */
	codec_init(&e->codec, o->raw_inodes ? NULL : e->pack);
	if (!o->no_export) {
		refs = sys_calloc(inodes, SQUASHFS_EXPORT_B);
		if (refs == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < e->tree->count; i++) {
			const struct sqw_node *node = &e->tree->nodes[i];

			if (node->owner == i)
				store_le64(refs + (size_t)(node->number - 1) *
				    SQUASHFS_EXPORT_B,
				    sqw_layout_ref(&e->layout, i));
		}
		rc = sqfs_write_table(file, codec, refs,
		    inodes * SQUASHFS_EXPORT_B, &e->super.export_table_start);
		sys_free(refs);
		if (rc != 0)
			return file_error(&e->file, rc);
	}

	if (o->raw_ids)
		codec_init(&e->codec, NULL);
	rc = sqfs_id_table_write(e->ids, file, &e->super, codec);
	if (rc != 0)
		return file_error(&e->file, rc);

	if (e->xattrs != NULL && e->xattrs->writer != NULL) {
		codec_init(&e->codec, o->raw_xattrs ? NULL : e->pack);
		return file_error(&e->file,
		    sqfs_xattr_writer_flush(e->xattrs->writer, file, &e->super,
		    codec));
	}
	if (e->xattrs == NULL)
		return 0;
	rc = sqt_xattrs_write(e->xattrs, &(struct sqw_table_ops){
	    .write = write_block, .arg = e,
	    .pack = o->raw_xattrs ? NULL : pack_table }, e->file.end,
	    o->xattrs_unused, &e->super.xattr_id_table_start);
	space->xattrs_B = e->xattrs->table_B;
	space->raw_xattrs_B = e->xattrs->text_B;
	space->xattr_sets = (uint32_t)e->xattrs->used_count;
	return rc;
}

/*
 * Returns the flags.  As in mksquashfs they describe the options, not the
 * contents: the flag of raw fragments, for example, means that this was
 * requested, not that no fragment block could be compressed.
 */
static uint16_t
flags_of(const struct sqt_image_options *o, const struct sqt_xattrs *x)
{
	const struct sqw_data_options *d = o->data;
	uint8_t settings[SQW_SETTINGS_MAX];
	bool none = d->method->compressor == 0;

	return (uint16_t)(
	    (o->raw_inodes || none ? SQUASHFS_RAW_INODES : 0) |
	    (o->raw_ids || none || (o->raw_inodes && !d->exact) ?
	    SQUASHFS_RAW_IDS : 0) |
	    (d->raw_data || none ? SQUASHFS_RAW_DATA : 0) |
	    (d->raw_fragments || (none && !d->no_fragments) ?
	    SQUASHFS_RAW_FRAGMENTS : 0) |
	    (o->raw_xattrs || none ? SQUASHFS_RAW_XATTRS : 0) |
	    (d->no_fragments ? SQUASHFS_NO_FRAGMENTS : 0) |
	    (d->tails ? SQUASHFS_ALWAYS_FRAGMENTS : 0) |
	    (d->no_duplicates ? 0 : SQUASHFS_DEDUPLICATED) |
	    (o->no_export ? 0 : SQUASHFS_EXPORTABLE) |
	    (x == NULL ? SQUASHFS_NO_XATTRS : 0) | o->more_flags |
	    (settings_of(o, settings) > 0 ? SQUASHFS_OPTIONS : 0));
}

int
sqt_image_end(int fd, const struct sqt_image_options *o, struct sqw_tree *t,
    const struct sqw_data *d, struct sqt_xattrs *x,
    struct sqt_image_space *space)
{
	struct ending *e = sys_calloc(1, sizeof(*e));
	const struct sqw_method *method = o->data->method;
	/* the padding begins with settings for which there is no field */
	char padding[SQUASHFS_PAD_B + SQW_RECORD_MAX] = { 0 };
	size_t n;
	off_t at;
	int rc = -ENOMEM;

	if (e == NULL)
		return rc;
	e->o = o;
	e->d = d;
	e->xattrs = x;
	e->tree = t;
	file_init(&e->file, fd, d->end);
	e->ids = sqfs_id_table_create(0);
	if (e->ids == NULL)
		goto out;
	/* as in mksquashfs, filters are for machine code, so not for tables */
	rc = sqw_codec_open(&e->pack, method, method->filters ? 0 :
	    o->data->level, o->gensquashfs &&
	    o->data->block > SQUASHFS_META_B ? o->data->block :
	    SQUASHFS_META_B, 0, sqw_maker(o->data));
	if (rc != 0)
		goto out;
	rc = sqt_error(sqfs_super_init(&e->super, o->data->block, o->mtime,
	    method->compressor == 0 ? SQFS_COMP_GZIP :
	    (SQFS_COMPRESSOR)method->compressor));
	if (rc != 0)
		goto out;
	e->super.inode_count = t->inodes;
	e->super.export_table_start = SQUASHFS_NO_TABLE;
	e->super.xattr_id_table_start = SQUASHFS_NO_TABLE;

	/* a hard link has the data of its inode */
	for (size_t i = 0; i < t->count; i++) {
		struct sqw_node *node = &t->nodes[i];

		if (sqw_has_data(t, i))
			node->data = d->of[node->id];
		else if (node->owner != i)
			node->data = t->nodes[node->owner].data;
	}
	rc = write_layout(e, space);
	if (rc != 0)
		goto out;
	for (size_t i = 0; o->inode != NULL && i < t->count; i++)
		o->inode(o->arg, i, sqw_layout_ref(&e->layout, i));
	rc = write_tables(e, space);
	if (rc != 0)
		goto out;
	/* the library's describe the contents */
	e->super.flags = flags_of(o, x);
	space->used_B = e->super.bytes_used = e->file.end;
	space->tables_B = e->file.end - e->super.directory_table_start -
	    space->listings_B;
	if (!o->no_pad) {
		n = o->data->exact ? 0 : sqw_record_make(o->data, padding);
		n += (size_t)(-(e->file.end + n) % SQUASHFS_PAD_B);
		rc = fdio_write(fd, padding, n);
		if (rc != 0)
			goto out;
		e->file.end += n;
	}
	space->image_B = e->file.end;
	at = o->streamed ? 0 : sys_lseek(fd, (off_t)o->offset, SEEK_SET);
	if (at < 0) {
		rc = (int)at;
		goto out;
	}
	e->file.end = 0;
	rc = file_error(&e->file, sqfs_super_write(&e->super, &e->file.base));
out:
	sqw_codec_close(e->pack);
	sqfs_destroy(e->ids);
	sqw_layout_close(&e->layout);
	sys_free(e->listings);
	sys_free(e);
	return rc;
}
