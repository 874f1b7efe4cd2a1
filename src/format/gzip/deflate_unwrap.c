/*
 * deflate_unwrap.c - headers and trailers of gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 1952, RFC 1950, PKWARE's APPNOTE.TXT 6.3.10 (4.3.7, 4.3.9).
 */
#include "deflate_unwrap.h"

#include "base/bytes.h"
#include "gzip.h"

#include <errno.h>
#include <string.h>

static ssize_t
gzip_head(const uint8_t *p, size_t len)
{
	struct gzip_header h;
	int rc = gzip_header_parse(&h, p, len);

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
zlib_head(const uint8_t *p, size_t len)
{
	if (len < 2)
		return 0;
	if ((p[0] & 15) != 8 || p[0] >> 4 > 7 || load_be16(p) % 31 != 0)
		return -EBADMSG;
	/* a preset dictionary that nobody can know */
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

/*
 * The first entry of an archive, which must be deflated, not encrypted, and
 * have its check behind it (as all have that were written to a pipe) or in
 * front.
 */
static ssize_t
zip_head(const uint8_t *p, size_t len)
{
	size_t n;

	if (len < 30)
		return 0;
	if (load_le32(p) != 0x04034b50)
		return -EBADMSG;
	if (load_le16(p + 8) != 8 || (load_le16(p + 6) & 1) != 0)
		return -ENOTSUP;
	n = 30 + (size_t)load_le16(p + 26) + load_le16(p + 28);
	return len < n ? 0 : (ssize_t)n;
}

/* Flag 8: what is not known in front stands in a descriptor behind. */
static bool
zip_front(const uint8_t *p, uint8_t *trailer)
{
	bool front = (load_le16(p + 6) & 8) == 0;

	if (front)
		memcpy(trailer, p + 14, 8);
	return front;
}

/* A data descriptor: signature, CRC, sizes (of which only 32 bits matter). */
static int
zip_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)total;
	return load_le32(t) == 0x08074b50 && load_le32(t + 4) == check ? 0 :
	    load_le32(t) == check ? 0 : -EBADMSG;
}

const struct deflate_unwrap unwrap_zip = {
	.head = zip_head, .trailer = 8, .verify = zip_verify,
	.front = zip_front,
	.check = &check_crc32,
	.ignore_rest = true,
};
