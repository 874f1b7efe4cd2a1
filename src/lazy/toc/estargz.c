/*
 * estargz.c - eStargz: gzip members, a table of contents, a footer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: docs/estargz.md in containerd/stargz-snapshotter, "Footer"; for the
 * older footer, "legacyFooterSize" in its package estargz.
 *
 * 	members		of the entries' headers and data
 * 	a member	a tar entry "stargz.index.json", and the archive's end
 * 	51 bytes	an empty member: its extra field has the offset of the
 * 			member before it, as 16 hexadecimal digits
 *
 * The older footer, of 47 bytes, contains these digits without the ID and
 * length of a subfield.
 */
#include "lazy/toc/toc.h"

#include "base/bytes.h"
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#define EXTERNAL "STARGZEXTERNALTOC"

enum {
	FOOTER = 51, FOOTER_OLD = 47,
	HEADER = 12,			/* bytes before the extra field */
	OFFSET_DIGITS = 16,
	MARK = 6			/* "STARGZ" */
};

/* The footer */

static bool
begins_footer(const uint8_t *p, unsigned extra)
{
	return memcmp(p, "\x1f\x8b\x08\x04", 4) == 0 &&
	    load_le16(p + 10) == extra;
}

static bool
read_offset(const uint8_t *p, uint64_t *offset)
{
	*offset = 0;
	for (int i = 0; i < OFFSET_DIGITS; i++) {
		const char *all = "0123456789abcdef", *at;

		at = p[i] == '\0' ? NULL : strchr(all, p[i]);
		if (at == NULL)
			return false;
		*offset = *offset << 4 | (uint64_t)(at - all);
	}
	return memcmp(p + OFFSET_DIGITS, "STARGZ", MARK) == 0;
}

/*
 * Finds the footer.  Returns the footer's length, or 0; sets *offset to the
 * offset that the footer contains.
 */
static size_t
find_footer(const struct layer *l, uint64_t *offset)
{
	const uint8_t *end = l->tail + l->tail_len, *p = end - FOOTER;

	if (l->tail_len >= FOOTER && begins_footer(p, FOOTER - 25) &&
	    memcmp(p + HEADER, "SG\x16\x00", 4) == 0 &&
	    read_offset(p + HEADER + 4, offset))
		return FOOTER;
	p = end - FOOTER_OLD;
	if (l->tail_len >= FOOTER_OLD && begins_footer(p, FOOTER_OLD - 25) &&
	    read_offset(p + HEADER, offset))
		return FOOTER_OLD;
	return 0;
}

static bool
is_external(const struct layer *l)
{
	return memmem(l->tail, l->tail_len, EXTERNAL, strlen(EXTERNAL)) !=
	    NULL;
}

static bool
has_estargz_footer(const struct layer *l)
{
	uint64_t offset;

	return find_footer(l, &offset) > 0 || is_external(l);
}

/* The table of contents: an archive with one entry, in a gzip member */

struct unpack {
	struct toc_input in;
	z_stream z;
	struct tar *tar;
	char *why;
};

static ssize_t
inflate_some(void *arg, void *buf, size_t len)
{
	struct unpack *u = arg;
	int rc = Z_OK;

	u->z.next_out = buf;
	u->z.avail_out = (uInt)len;
	while (u->z.avail_out > 0 && rc == Z_OK) {
		const uint8_t *data = NULL;
		ssize_t n;

		if (u->z.avail_in == 0) {
			n = toc_input_next(&u->in, &data, u->why);
			if (n <= 0)
				return n < 0 ? n : -ENODATA;
			u->z.next_in = data;
			u->z.avail_in = (uInt)n;
		}
		rc = inflate(&u->z, Z_NO_FLUSH);
	}
	if (rc != Z_OK && rc != Z_STREAM_END)
		return layer_refuse(u->why, -EBADMSG, "the index is damaged: "
		    "it does not decompress");
	return (ssize_t)(len - u->z.avail_out);
}

/* If the tar reader failed, reports the reason. */
static int
explain_failure(struct unpack *u, int rc)
{
	const char *why = tar_why(u->tar);

	if (rc == -ENODATA)
		return layer_refuse(u->why, -EBADMSG, "the index is "
		    "truncated");
	if (rc == -EBADMSG && why != NULL)
		layer_refuse(u->why, rc, "the archive around the index is "
		    "damaged: %s", why);
	return rc;
}

static ssize_t
read_table_text(void *arg, void *buf, size_t len, char why[LAYER_WHY])
{
	struct unpack *u = arg;
	ssize_t n = tar_read(u->tar, buf, len);

	(void)why;
	return n < 0 ? explain_failure(u, (int)n) : n;
}

static int
open_estargz(struct layer *l, const struct layer_expect *e, char why[LAYER_WHY])
{
	struct unpack u = { .in = { .l = l }, .why = why };
	const struct tar_source archive = { .read = inflate_some, .arg = &u };
	const struct toc_source source = { .read = read_table_text, .arg = &u };
	uint8_t sum[LAYER_DIGEST];
	struct tar_entry entry;
	uint64_t offset;
	size_t footer = find_footer(l, &offset);
	int rc;

	if (footer == 0)
		return layer_refuse(why, -EINVAL, is_external(l) ? "the index "
		    "is a separate image, which is not supported" :
		    "no eStargz footer");
	if (offset >= l->size - footer)
		return layer_refuse(why, -EBADMSG, "the footer places the "
		    "index past the end of the layer");
	u.in.at = offset;
	u.in.left = l->size - footer - offset;
	/* 15: any window; 16: a gzip header */
	if (inflateInit2(&u.z, 15 + 16) != Z_OK)
		return -ENOMEM;
	rc = tar_open(&u.tar, &archive);
	if (rc == 0)
		rc = tar_next(u.tar, &entry);
	if (rc < 0) {
		rc = u.tar == NULL ? rc : explain_failure(&u, rc);
		goto out;
	}
	if (rc == 0 || strcmp(entry.path, LAYER_TOC) != 0) {
		rc = layer_refuse(why, -EBADMSG, "the index is not where the "
		    "footer says");
		goto out;
	}
	rc = toc_load(l, &source, offset, sum, why);
	if (rc == 0 && e->index_digest != NULL &&
	    memcmp(sum, e->index_digest, LAYER_DIGEST) != 0)
		rc = layer_refuse(why, -EBADMSG, "the index does not match "
		    "the expected digest");
out:
	tar_close(u.tar);
	inflateEnd(&u.z);
	toc_input_close(&u.in);
	return rc;
}

/* Units: members, or the beginnings of members */

static int
open_inflater(struct layer_decoder *d)
{
	struct inflater *inflater = NULL;
	int rc = inflater_open(&inflater);

	d->state = inflater;
	return rc;
}

static void
close_inflater(struct layer_decoder *d)
{
	inflater_close(d->state);
}

/*
 * Decodes only the content; the member may continue after it, so the member's
 * CRC is not verified.  The digests of the chunks are verified instead.
 */
static int
decode_member(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why)
{
	struct inflater *inflater = d->state;
	struct gzip_header h;
	struct stream_io io = { .eof = true, .out = content,
		.out_len = (size_t)d->l->index.units[unit].content };
	size_t len = (size_t)r->length;

	*why = "a unit's data does not decompress";
	if (gzip_header_parse(&h, r->buf, len) != 1)
		return -EBADMSG;
	io.in = (const uint8_t *)r->buf + h.len;
	io.in_len = len - h.len;
	inflater_start(inflater);
	if (inflater_run(inflater, &io) < 0 || io.out_len > 0)
		return -EBADMSG;
	return d->known ? 0 : toc_verify(d->l, unit, d->digest, r, content,
	    why);
}

const struct layer_format format_estargz = {
	.kind = LAYER_ESTARGZ,
	.probe = has_estargz_footer,
	.open = open_estargz,
	.close = toc_close,
	.ranges = toc_ranges,
	.decoder_open = open_inflater,
	.decoder_close = close_inflater,
	.decode = decode_member,
	.file_digest = toc_file_digest,
	.trace = toc_trace,
	.trace_decode = toc_trace_decode,
	.section_decode = toc_section_decode,
	.prefetch = toc_prefetch,
};
