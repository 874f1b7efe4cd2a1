/*
 * list_zip.c - the size of a zip archive's first entry, and of zlib files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3.12 to 4.3.16 and 4.5.3.
 * The directory at the end contains fields that the header of the entry may
 * lack.
 */
#include "deflate_codec.h"

#include "base/bytes.h"
#include "format/list.h"

#include <errno.h>
#include <string.h>

enum {
	LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR64 = 20,
	COMMENT_MAX = 0xffff, FIELD = 4, ZIP64_EXTRA = 1
};

struct directory {
	uint64_t at, entries;
};

/*
 * Reads the end record at p, which is at the given offset, and the ZIP64 record
 * before it if the fields are too small.
 */
static int
read_record(struct look *look, uint64_t end, const uint8_t *p,
    struct directory *d)
{
	uint32_t size = load_le32(p + 12);
	uint64_t at;
	ssize_t n;

	d->entries = load_le16(p + 10);
	d->at = load_le32(p + 16);
	if (d->entries != UINT16_MAX && d->at != UINT32_MAX)
		return 0;
	/* zip -fz omits the offset, although there is no ZIP64 record */
	if (d->at == UINT32_MAX && size <= end)
		d->at = end - size;
	if (end < LOCATOR64)
		return -EBADMSG;
	n = look_at(look, end - LOCATOR64, LOCATOR64, &p);
	if (n < LOCATOR64)
		return n < 0 ? (int)n : -EBADMSG;
	if (memcmp(p, "PK\6\7", 4) != 0)
		return 0;
	at = load_le64(p + 8);
	n = at > end ? 0 : look_at(look, at, END64, &p);
	if (n < 0)
		return (int)n;
	if (n < END64 || memcmp(p, "PK\6\6", 4) != 0)
		return -EBADMSG;
	d->entries = load_le64(p + 32);
	d->at = load_le64(p + 48);
	return 0;
}

/*
 * Finds the end record; only a comment and zeros may follow it (bsdtar pads to
 * a block).
 */
static int
find_end(struct look *look, struct directory *d)
{
	size_t tail = look->len < END + COMMENT_MAX ? (size_t)look->len :
	    END + COMMENT_MAX;
	const uint8_t *p;
	ssize_t n = look_at(look, look->len - tail, tail, &p), used = n;

	if (n < 0)
		return (int)n;
	while (used > 0 && p[used - 1] == 0)
		used--;
	for (ssize_t i = n - END; i >= 0; i--) {
		ssize_t end = i + END + load_le16(p + i + 20);

		if (memcmp(p + i, "PK\5\6", 4) == 0 && end >= used &&
		    end <= n)
			return read_record(look, look->len - (uint64_t)(n - i),
			    p + i, d);
	}
	return -ENODATA;
}

uint64_t
zip_size64(const uint8_t *extra, size_t len)
{
	while (len >= FIELD) {
		size_t n = load_le16(extra + 2);

		if (n > len - FIELD)
			break;
		if (load_le16(extra) == ZIP64_EXTRA && n >= 8)
			return load_le64(extra + FIELD);
		extra += FIELD + n;
		len -= FIELD + n;
	}
	return UINT32_MAX;
}

int
zip_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct directory d = { 0, 0 };
	struct look *look = look_open(fd, len);
	size_t at, extra;
	uint64_t size;
	const uint8_t *p;
	ssize_t n;
	int rc;

	if (look == NULL)
		return -ENOMEM;
	rc = find_end(look, &d);
	if (rc != 0)
		goto out;
	n = look_at(look, d.at, LOOK_MAX, &p);
	if (n < CENTRAL || memcmp(p, "PK\1\2", 4) != 0) {
		rc = n < 0 ? (int)n : -EBADMSG;
		goto out;
	}
	l->frames = d.entries;
	l->has_size = true;
	size = load_le32(p + 24);
	at = CENTRAL + (size_t)load_le16(p + 28);
	extra = load_le16(p + 30);
	if (size == UINT32_MAX && at <= (size_t)n)
		size = zip_size64(p + at, extra < (size_t)n - at ? extra :
		    (size_t)n - at);
	list_add(l, size);
	/* other entries contain more data, but pzc does not read them */
	l->exact = l->has_value = d.entries == 1;
	l->value = load_le32(p + 16);
out:
	look_close(look);
	return rc;
}

/* zlib streams contain only a checksum, no size. */
int
zlib_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	const uint8_t *p;
	ssize_t n;

	if (look == NULL)
		return -ENOMEM;
	n = len < 8 ? 0 : look_at(look, len - 4, 4, &p);
	if (n == 4) {
		l->has_value = true;
		l->value = load_be32(p);
		l->frames = 1;
	}
	look_close(look);
	return n < 0 ? (int)n : n < 4 ? -ENODATA : 0;
}
