/*
 * imgsrc_repack.h - declarations shared by the repacking code
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_REPACK_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_REPACK_H

#include "image/source/imgsrc.h"
#include "image/squashfs/write/repack.h"

/* A set of extended attributes: its indices in the old and the new image. */
struct imgsrc_repack_set {
	uint32_t old, made;
	size_t name;			/* first name with this set */
};

struct imgsrc_repack {
	struct imgsrc_image *to;
	const char *path;		/* of the old image */
	bool keeps;			/* inodes stay as they are, whatever the
					 * options say, and so does the new
					 * root unless under is set */
	const char *under;		/* directory for all names, or NULL */
	struct sq_file f;
	bool copies;			/* blocks are not compressed again */
	const struct sq_image *m;	/* f.image */
	uint32_t *ids;			/* ids by number in the old image */
	struct imgsrc_repack_set *sets;	/* sets by old index */
	size_t set_count;
	struct sqw_old *old;		/* distinct blocks, in order */
	size_t count, units;
};

/*
 * Reports why the image is rejected.  path is the name concerned, or "".
 * Returns -EBADMSG.
 */
int imgsrc_repack_refuse(struct imgsrc_repack *r, const char *path,
    const char *why);

/* Returns the path of a name, or "" if there is not enough memory. */
const char *imgsrc_repack_path(struct imgsrc_repack *r, size_t number);

/*
 * Opens the image r->path, in the file at to->o.offset if to->o.has_offset, and
 * adds its names to the tree, with all contents of their inodes except data;
 * r->to is set.  r must be closed even after an error.  Returns 0, or -errno
 * after reporting the error.
 */
int imgsrc_repack_add_names(struct imgsrc_repack *r,
    const struct sq_file_options *place);

/*
 * The same for to->o.path, which is the only source: completes the tree.
 */
int imgsrc_repack_open_tree(struct imgsrc_repack *r, struct imgsrc_image *to);
void imgsrc_repack_close_tree(struct imgsrc_repack *r);

/* Sets the options that the flags of an image stand for. */
void imgsrc_repack_take_flags(const struct sq_facts *f,
    struct sqw_data_options *d, struct sqt_image_options *t);

/*
 * Fills in r->old with the blocks, in the order of the image.  Returns 0, or
 * -errno after reporting the error.
 */
int imgsrc_repack_list(struct imgsrc_repack *r);

/*
 * Describes the blocks in to->data, once the tree is complete and the results
 * in r->old are known.  Returns 0, or -errno after reporting the error.
 */
int imgsrc_repack_give(struct imgsrc_repack *r);

/* Reads the content of old files from their start. */
struct imgsrc_repack_reader {
	const struct sq_image *m;
	struct sq_decoder *decoder;
	struct sq_entry e;		/* the current file */
	uint32_t k;			/* index of its next block */
	uint64_t at;			/* where that begins */
	/* the last fragment block read */
	uint8_t *fragment;
	uint32_t fragment_number;
	int64_t fragment_B;
};

/* Returns 0 or -ENOMEM; x must be closed even then. */
int imgsrc_repack_reader_open(struct imgsrc_repack_reader *x,
    const struct sq_image *m);
void imgsrc_repack_reader_close(struct imgsrc_repack_reader *x);

/* Makes a file, given its number, the current one. */
void imgsrc_repack_reader_begin(struct imgsrc_repack_reader *x, size_t number);

/*
 * Reads the next block, or the tail, which has len bytes.  Returns NULL, or why
 * it is damaged; *at is the offset of that damage.
 */
const char *imgsrc_repack_reader_next(struct imgsrc_repack_reader *x,
    void *buf, size_t len, uint64_t *at);

#endif
