/*
 * imgsrc_append.h - adding to an image instead of beginning a new one
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The new image begins with the old one's data, whose blocks are copied as they
 * are, and its tree contains the old names, whose inodes are copied.
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_APPEND_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_APPEND_H

#include "image/source/imgsrc.h"

struct imgsrc_append;

/*
 * Opens the image to->o.append, replaces the settings in `to` by its own, and
 * adds its names to the tree, which must be empty.  *a must be closed even
 * after an error.  Returns 0, or -errno after reporting the error.
 */
int imgsrc_append_open(struct imgsrc_append **a, struct imgsrc_image *to);
void imgsrc_append_close(struct imgsrc_append *a);	/* a may be NULL */

/*
 * Copies what precedes the old image in its file to the start of fd.  Returns
 * 0, or -errno after reporting the error.
 */
int imgsrc_append_head(struct imgsrc_append *a, int fd);

/*
 * Copies the old data to fd, at its current offset, which is byte `at` of the
 * new image, and describes it in to->data; the tree must be complete.  From
 * then on, new files can share it.  Returns 0, or -errno after reporting the
 * error.
 */
int imgsrc_append_data(struct imgsrc_append *a, int fd, uint64_t at);

#endif
