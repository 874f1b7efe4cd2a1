/*
 * deflate_unwrap.c - parsing headers and trailers of gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 1952, RFC 1950, PKWARE's APPNOTE.TXT 6.3.10 (4.3.7, 4.3.9).
 */
#include "deflate_unwrap.h"

#include "base/bytes.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <string.h>

static ssize_t
gzip_head(const uint8_t *p, size_t len, struct deflate_head *unused)
{
	struct gzip_header h;
	int rc = gzip_header_parse(&h, p, len);

	(void)unused;
	return rc == 1 ? (ssize_t)h.len : rc;
}

static int
gzip_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	return load_le32(t) == check && load_le32(t + 4) == (uint32_t)total ?
	    0 : -EBADMSG;
}

const struct deflate_unwrap unwrap_gzip = {
	.head = gzip_head, .trailer = GZIP_TRAILER, .verify = gzip_verify,
	.check = &check_crc32,
	.members = true,
};

static int
part_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)check;
	return load_le32(t + 4) == (uint32_t)total ? 0 : -EBADMSG;
}

const struct deflate_unwrap unwrap_gzip_part = {
	.head = gzip_head, .trailer = GZIP_TRAILER, .verify = part_verify,
	.check = &check_crc32,
};

static ssize_t
zlib_head(const uint8_t *p, size_t len, struct deflate_head *h)
{
	if (len < 2)
		return 0;
	if ((p[0] & 15) != 8 || p[0] >> 4 > 7 || load_be16(p) % 31 != 0)
		return -EBADMSG;
	h->why = "the stream needs a preset dictionary";
	return p[1] & 0x20 ? -ENOTSUP : 2;
}

static int
zlib_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)total;
	return load_be32(t) == check ? 0 : -EBADMSG;
}

const struct deflate_unwrap unwrap_zlib = {
	.head = zlib_head, .trailer = 4, .verify = zlib_verify,
	.check = &check_adler32,
};

enum {
	ZIP_LOCAL = 30,
	ZIP_ENCRYPTED = 1, ZIP_DESCRIPTOR = 8,	/* flags */
	ZIP_STORED = 0, ZIP_DEFLATED = 8,	/* methods */
	ZIP_FIELD = 4, ZIP64_FIELD = 1
};

/*
 * Returns a stored entry's size, from the ZIP64 field if 32 bits are not
 * enough.
 */
static uint64_t
zip_stored_len(const uint8_t *p, size_t len)
{
	size_t pos = ZIP_LOCAL + (size_t)load_le16(p + 26);

	if (load_le32(p + 22) != UINT32_MAX)
		return load_le32(p + 22);
	while (len - pos >= ZIP_FIELD) {
		size_t n = load_le16(p + pos + 2);

		if (n > len - pos - ZIP_FIELD)
			break;
		if (load_le16(p + pos) == ZIP64_FIELD && n >= 8)
			return load_le64(p + pos + ZIP_FIELD);
		pos += ZIP_FIELD + n;
	}
	return UINT32_MAX;
}

/*
 * Returns the reason why the first entry of an archive cannot be read, or NULL.
 */
static const char *
zip_why_not(const uint8_t *p)
{
	uint16_t method = load_le16(p + 8), name = load_le16(p + 26);

	if (name > 0 && p[ZIP_LOCAL + name - 1] == '/')
		return "the first entry of the archive is a directory";
	if (load_le16(p + 6) & ZIP_ENCRYPTED)
		return "the first entry of the archive is encrypted";
	if (method != ZIP_STORED && method != ZIP_DEFLATED)
		return "the first entry of the archive is neither deflated "
		    "nor stored";
	return NULL;
}

/*
 * Parses the first entry of an archive.  Its checksum is in its header, or in a
 * descriptor after it, as in all archives written to a pipe.  Deflated data
 * contains an end marker; the length of stored data must be in the header.
 */
static ssize_t
zip_head(const uint8_t *p, size_t len, struct deflate_head *h)
{
	size_t n;

	if (len < ZIP_LOCAL)
		return 0;
	if (load_le32(p) != 0x04034b50)
		return -EBADMSG;
	n = ZIP_LOCAL + (size_t)load_le16(p + 26) + load_le16(p + 28);
	if (len < n)
		return 0;
	h->why = zip_why_not(p);
	if (h->why != NULL)
		return -ENOTSUP;
	h->front = (load_le16(p + 6) & ZIP_DESCRIPTOR) == 0;
	memcpy(h->trailer, p + 14, 8);
	h->stored = load_le16(p + 8) == ZIP_STORED;
	if (h->stored)
		h->left = zip_stored_len(p, n);
	/* a truly empty entry has the checksum of empty data */
	if (h->stored && h->left == 0 && !h->front)
		h->why = "the first entry of the archive is stored, but its "
		    "header does not record its length";
	return (ssize_t)n;
}

/*
 * Verifies a data descriptor: signature, CRC, and the lower 32 bits of the
 * sizes.
 */
static int
zip_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)total;
	return load_le32(t) == 0x08074b50 && load_le32(t + 4) == check ? 0 :
	    load_le32(t) == check ? 0 : -EBADMSG;
}

const struct deflate_unwrap unwrap_zip = {
	.head = zip_head, .trailer = 8, .verify = zip_verify,
	.check = &check_crc32,
	.ignore_rest = true,
};
