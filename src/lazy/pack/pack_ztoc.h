/*
 * pack_ztoc.h - declarations shared by the parts that write a ztoc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_ZTOC_H
#define COLDPRESS_LAZY_PACK_PACK_ZTOC_H

#include "lazy/ztoc/flatbuf.h"
#include "lazy/pack/pack.h"
#include "lazy/ztoc/ztoc.h"

#include <stdbool.h>

enum { ZTOC_LEVEL = 9 };		/* level for the windows and the
					 * index */

/* Implements pack_layer() for LAYER_ZTOC. */
int pack_ztoc(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY]);

/* The entries */

struct pack_ztoc_entries;

int pack_ztoc_entries_open(struct pack_ztoc_entries **x, const char *tmpdir);
void pack_ztoc_entries_close(struct pack_ztoc_entries *x);	/* may be NULL */

/*
 * Adds an entry.  Returns 0; -EINVAL, with a clause in why, if the index cannot
 * represent the entry; or another -errno.
 */
int pack_ztoc_entries_add(struct pack_ztoc_entries *x,
    const struct tar_entry *e, bool packed, char why[LAYER_WHY]);

/*
 * Writes the Toc with all of its contents; *at is its position.  Returns 0 or
 * -errno.
 */
int pack_ztoc_entries_write(struct pack_ztoc_entries *x,
    struct flatbuf_writer *w, uint32_t *at);

/* The spans */

struct pack_ztoc_spans;
struct ztoc_output;

struct pack_ztoc_spans_options {
	uint64_t span;
	bool plain;			/* the layer is not compressed */
	bool packed;
	int level;			/* compression level of windows */
	const char *tmpdir;
	struct ztoc_output *out;	/* packed windows are written here */
};

int pack_ztoc_spans_open(struct pack_ztoc_spans **s,
    const struct pack_ztoc_spans_options *o);
void pack_ztoc_spans_close(struct pack_ztoc_spans *s);		/* may be NULL */

/*
 * These add the next bytes of the layer, a point, and the window of that point;
 * see format/gzip/gzip_points.h.
 */
struct gzip_point;
int pack_ztoc_spans_taken(void *spans, const uint8_t *data, size_t len);
int pack_ztoc_spans_point(void *spans, const struct gzip_point *p);
int pack_ztoc_spans_window(void *spans, const uint8_t *window, size_t len);

/* Ends the last span, if there is one.  Returns 0 or -errno. */
int pack_ztoc_spans_end(struct pack_ztoc_spans *s);
uint64_t pack_ztoc_spans_count(const struct pack_ztoc_spans *s);
/* bytes of the layer */
uint64_t pack_ztoc_spans_stored(const struct pack_ztoc_spans *s);

/* Writes the Compression; *at is its position.  Returns 0 or -errno. */
int pack_ztoc_spans_write(struct pack_ztoc_spans *s, struct flatbuf_writer *w,
    uint32_t *at);

/* The file, hashed */

struct digest;
struct ztoc_output {
	int fd;
	uint64_t len;
	struct digest *digest;		/* digest of the whole file */
};

/* Appends to the file, as flatbuf_finish() expects.  Returns 0 or -errno. */
int ztoc_output_put(void *output, const void *data, size_t len);

#endif
