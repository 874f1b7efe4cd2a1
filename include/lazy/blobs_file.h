/*
 * blobs_file.h - layers in local files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_BLOBS_FILE_H
#define COLDPRESS_BLOBS_FILE_H

#include "lazy/layer.h"

struct blobs_file;

/*
 * Opens the layer in the regular file path.  The object "ztoc" is the file
 * `side` or, if that is NULL, path with ".ztoc" appended.  If path is a
 * directory, there is no layer, and objects are files below it.  The result of
 * blobs_file_blobs(), which is thread-safe, remains valid until
 * blobs_file_close().  Returns 0, -EINVAL (path is neither) or -errno.
 */
int blobs_file_open(struct blobs_file **b, const char *path, const char *side);
void blobs_file_close(struct blobs_file *b);	/* may be NULL */
const struct layer_blobs *blobs_file_blobs(const struct blobs_file *b);

/* Returns the descriptor of the object directory, which belongs to b, or -1. */
int blobs_file_dir(const struct blobs_file *b);

#endif
