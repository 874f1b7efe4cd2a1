/*
 * sq_reader.h - declarations shared by the parts of the reader
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_READ_SQ_READER_H
#define COLDPRESS_IMAGE_SQUASHFS_READ_SQ_READER_H

#include "image/squashfs/read/reader.h"
#include "squashfs.h"

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
static inline const struct image_dir *
sq_dir_of(const struct sq_image *m, uint32_t id)
{
	return id < m->image.dir_count ? &m->image.dir[id] : NULL;
}

static inline const struct image_file *
sq_file_of(const struct sq_image *m, uint32_t id)
{
	return &m->image.file[id - m->image.dir_count + 1];
}

/* Sorts the names.  Returns 0, -EFBIG, -EDQUOT or -ENOMEM. */
int sq_names_make(struct sq_image *m);
void sq_names_free(struct sq_image *m);

#endif
