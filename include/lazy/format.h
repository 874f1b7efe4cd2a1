/*
 * format.h - the operations of a layer format, and code shared by formats
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A new format is one file that defines a struct layer_format, and one row in
 * layer.c.
 */
#ifndef COLDPRESS_LAZY_FORMAT_H
#define COLDPRESS_LAZY_FORMAT_H

#include "lazy/layer.h"

#include "engine/digest/digest.h"
#include "lazy/index.h"

enum { LAYER_TAIL = 64 };	/* size of the longest footer */

struct layer {
	const struct layer_format *format;
	const struct layer_blobs *blobs;
	/*
	 * size of the layer, or 0 if there is none, and the layer's last bytes
	 */
	uint64_t size;
	size_t tail_len;
	uint8_t tail[LAYER_TAIL];
	struct lazy_index index;
	uint64_t index_bytes;
	void *state;			/* the format's */
};

struct layer_decoder {
	const struct layer *l;
	struct digest *digest;		/* SHA-256 */
	bool known;			/* digests need not be compared */
	void *state;			/* the format's */
};

/*
 * The operations of a format.  Functions that return an int return 0 or -errno,
 * like the functions of layer.h that call them.
 */
struct layer_format {
	enum layer_kind kind;

	/*
	 * Returns whether the layer is in this format, determined from l->tail
	 * or from the presence of an object.
	 */
	bool (*probe)(const struct layer *l);
	/*
	 * Fills in l->index, l->index_bytes and l->state.  close() is called
	 * even after an error.
	 */
	int (*open)(struct layer *l, const struct layer_expect *e,
	    char why[LAYER_WHY]);
	void (*close)(struct layer *l);		/* l->state may be NULL */

	size_t (*ranges)(const struct layer *l, uint32_t unit,
	    struct layer_range r[LAYER_RANGES_MAX]);
	int (*decoder_open)(struct layer_decoder *d);
	void (*decoder_close)(struct layer_decoder *d);	/* d->state may be
							 * NULL */
	int (*decode)(struct layer_decoder *d, uint32_t unit,
	    const struct layer_range *r, void *content, const char **why);

	/*
	 * This and the next four are NULL if the format does not support them.
	 */
	const uint8_t *(*file_digest)(const struct layer *l, size_t entry);
	bool (*trace)(const struct layer *l, struct layer_range *r);
	int (*trace_decode)(const struct layer *l,
	    const struct layer_trace_io *io);
	int (*section_decode)(const struct layer *l,
	    const struct layer_section *s, const struct layer_trace_io *io);
	bool (*prefetch)(const struct layer *l, struct layer_range *r);
	const struct layer_part *(*parts)(const struct layer *l,
	    size_t *count);
};

extern const struct layer_format format_estargz, format_zstd_chunked,
    format_ztoc, format_cas;

/*
 * Reads one range of an object and counts it as part of the index.  Returns 0,
 * or the blobs' -errno with a clause in why.
 */
int layer_fetch(struct layer *l, const struct layer_range *r,
    char why[LAYER_WHY]);

/* A type's name in a table of contents and in a ztoc, for example "reg". */
const char *layer_type_name(enum tar_type type);

/* Finds the type with this name.  Returns false if there is none. */
bool layer_type_find(const char *name, enum tar_type *type);

#define LAYER_LARGE_ID "the owner or group ID is above 2^32 - 1"

/* Writes a clause to why, and returns rc, for use in a return statement. */
int layer_refuse(char why[LAYER_WHY], int rc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
