/*
 * layer.c - a layer that can be read lazily, in any format
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/format.h"

#include "base/hex.h"
#include "base/sys.h"
#include "lazy/toc/toc_compact.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The formats, in the order in which they are tried. */
static const struct layer_format *const formats[] = {
	&format_estargz, &format_zstd_chunked, &format_ztoc,
#ifdef COLDPRESS_SQLITE
	&format_cas,
#endif
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

int
layer_refuse(char why[LAYER_WHY], int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, LAYER_WHY, fmt, ap);
	va_end(ap);
	return rc;
}

static const char *const types[] = {
	[TAR_FILE] = "reg", [TAR_HARDLINK] = "hardlink",
	[TAR_SYMLINK] = "symlink", [TAR_CHAR] = "char",
	[TAR_BLOCK_DEVICE] = "block", [TAR_DIR] = "dir", [TAR_FIFO] = "fifo"
};

const char *
layer_type_name(enum tar_type type)
{
	return types[type];
}

bool
layer_type_find(const char *name, enum tar_type *type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i], name) == 0) {
			*type = (enum tar_type)i;
			return true;
		}
	return false;
}

int
layer_fetch(struct layer *l, const struct layer_range *r, char why[LAYER_WHY])
{
	int rc = l->blobs->read(l->blobs->arg, r, 1);

	l->index_bytes += r->length;
	if (rc == -ENODATA)
		return layer_refuse(why, rc, "the layer ends inside its index");
	if (rc != 0)
		return layer_refuse(why, rc, "the index cannot be read: %s",
		    strerror(-rc));
	return 0;
}

/* Opening */

/* Reads a colon and 1 to 18 digits.  Returns the text after them, or NULL. */
static const char *
read_number(const char *text, uint64_t *n)
{
	size_t digits;

	if (text == NULL || *text++ != ':')
		return NULL;
	digits = strspn(text, "0123456789");
	*n = strtoull(text, NULL, 10);
	return digits >= 1 && digits <= 18 ? text + digits : NULL;
}

int
layer_expect_compact(struct layer_expect *e, uint8_t digest[LAYER_DIGEST],
    const char *text)
{
	char sum[HEX_SHA256];

	if (strlen(text) < sizeof(sum))
		return -EINVAL;
	memcpy(sum, text, sizeof(sum) - 1);
	sum[sizeof(sum) - 1] = '\0';
	text = read_number(text + sizeof(sum) - 1, &e->compact_offset);
	text = read_number(text, &e->compact_length);
	if (text == NULL || *text != '\0' ||
	    hex_read_sha256(digest, sum) != 0)
		return -EINVAL;
	e->compact_digest = digest;
	return 0;
}

/*
 * Recognizes the format by the last bytes of the layer, if there is one: some
 * formats have objects in addition to the layer, or only objects.
 */
static int
open_format(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY])
{
	struct layer_range r = { .buf = l->tail };
	int rc = l->blobs->size(l->blobs->arg, NULL, &l->size);

	if (rc == -ENOENT)
		l->size = 0;
	else if (rc != 0)
		return layer_refuse(why, rc, "%s", strerror(-rc));
	l->tail_len = l->size < LAYER_TAIL ? (size_t)l->size : LAYER_TAIL;
	r.offset = l->size - l->tail_len;
	r.length = l->tail_len;
	if (l->tail_len > 0) {
		rc = layer_fetch(l, &r, why);
		if (rc != 0)
			return rc;
	}
	for (size_t i = 0; l->format == NULL && i < FORMATS; i++)
		if (e->kind != NULL ?
		    strcmp(layer_kind_name(formats[i]->kind), e->kind) == 0 :
		    formats[i]->probe(l))
			l->format = formats[i];
	if (l->format == NULL)
		return layer_refuse(why, -EINVAL, e->kind != NULL ?
		    "not in %.64s format" :
		    "not in a format that can be read lazily", e->kind);
	return l->format->open(l, e, why);
}

int
layer_open(struct layer **out, const struct layer_blobs *blobs,
    const struct layer_expect *e, char why[LAYER_WHY])
{
	static const struct layer_expect nothing;
	struct layer *l = sys_calloc(1, sizeof(*l));
	int rc;

	*why = '\0';
	if (l == NULL)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	l->blobs = blobs;
	if (e == NULL)
		e = &nothing;
	rc = e->compact_digest != NULL ? toc_compact_load(l, e, why) :
	    open_format(l, e, why);
	if (rc != 0 && (rc == -ENOMEM || *why == '\0'))
		layer_refuse(why, rc, "%s", strerror(-rc));
	if (rc != 0)
		goto fail;
	rc = -EINVAL;
	/* a compact index reveals the format only once it has been fetched */
	if (e->kind != NULL &&
	    strcmp(e->kind, layer_kind_name(l->format->kind)) != 0) {
		layer_refuse(why, rc, "not in %.64s format", e->kind);
		goto fail;
	}
	if (e->key_digest != NULL && l->format->kind != LAYER_CAS) {
		layer_refuse(why, rc, "not a repository, so it is not signed");
		goto fail;
	}
	index_finish(&l->index);
	*out = l;
	return 0;
fail:
	layer_close(l);
	return rc;
}

void
layer_close(struct layer *l)
{
	if (l == NULL)
		return;
	if (l->format != NULL)
		l->format->close(l);
	index_free(&l->index);
	sys_free(l);
}

/* Querying the index */

bool
layer_is_internal(const char *path)
{
	return strcmp(path, LAYER_TOC) == 0 ||
	    strcmp(path, LAYER_LANDMARK) == 0 ||
	    strcmp(path, LAYER_NO_LANDMARK) == 0;
}

enum layer_kind
layer_kind(const struct layer *l)
{
	return l->format->kind;
}

const char *
layer_kind_name(enum layer_kind kind)
{
	static const char *const names[] = {
		[LAYER_ESTARGZ] = "estargz",
		[LAYER_ZSTD_CHUNKED] = "zstd-chunked", [LAYER_ZTOC] = "ztoc",
		[LAYER_CAS] = "cas"
	};

	return names[kind];
}

const struct layer_entry *
layer_entries(const struct layer *l, size_t *count)
{
	*count = l->index.entry_count;
	return l->index.entries;
}

const struct layer_unit *
layer_units(const struct layer *l, size_t *count)
{
	*count = l->index.unit_count;
	return l->index.units;
}

const struct layer_part *
layer_parts(const struct layer *l, size_t *count)
{
	*count = 0;
	return l->format->parts == NULL ? NULL : l->format->parts(l, count);
}

const uint8_t *
layer_file_digest(const struct layer *l, size_t entry)
{
	return l->format->file_digest == NULL ? NULL :
	    l->format->file_digest(l, entry);
}

size_t
layer_find_run(const struct layer_entry *e, uint64_t offset)
{
	size_t low = 0, high = e->run_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (e->runs[mid].offset + e->runs[mid].length <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t
layer_index_bytes(const struct layer *l)
{
	return l->index_bytes;
}

/* Units */

size_t
layer_ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX])
{
	return l->format->ranges(l, unit, r);
}

int
layer_decoder_open(struct layer_decoder **out, const struct layer *l)
{
	struct layer_decoder *d = sys_calloc(1, sizeof(*d));
	int rc;

	if (d == NULL)
		return -ENOMEM;
	d->l = l;
	rc = digest_new_sha256(&d->digest);
	if (rc == 0)
		rc = l->format->decoder_open(d);
	if (rc != 0) {
		layer_decoder_close(d);
		return rc;
	}
	*out = d;
	return 0;
}

void
layer_decoder_close(struct layer_decoder *d)
{
	if (d == NULL)
		return;
	d->l->format->decoder_close(d);
	digest_free(d->digest);
	sys_free(d);
}

int
layer_decode(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	d->known = false;
	return d->l->format->decode(d, unit, r, content, why);
}

int
layer_decode_again(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	d->known = true;
	return d->l->format->decode(d, unit, r, content, why);
}

/* The data needed at startup */

bool
layer_trace(const struct layer *l, struct layer_range *r)
{
	return l->format->trace != NULL && l->format->trace(l, r);
}

int
layer_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	return l->format->trace_decode(l, io);
}

int
layer_section_decode(const struct layer *l, const struct layer_section *s,
    const struct layer_trace_io *io)
{
	return l->format->section_decode(l, s, io);
}

bool
layer_prefetch(const struct layer *l, struct layer_range *r)
{
	return l->format->prefetch != NULL && l->format->prefetch(l, r);
}
