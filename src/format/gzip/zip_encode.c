/*
 * zip_encode.c - writing a zip archive with one entry
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: PKWARE's APPNOTE.TXT 6.3.10.  The sizes are not known in advance, so
 * they are written in a data descriptor after the data.  If they exceed 32
 * bits, the descriptor has 64-bit fields, and the directory contains a ZIP64
 * record.
 */
#include "deflate_wrap.h"

#include "base/bytes.h"

#include <string.h>
#include <time.h>

enum { LOCAL = 30, CENTRAL = 46, ZIP64_FIELD = 20, END = 22,
    END64 = 56, LOCATOR64 = 20, NAME_MAX_B = 1024 };

static const char *
entry_name(const struct deflate_job *j)
{
	return j->options->name != NULL ? j->options->name : "-";
}

static uint16_t
name_len(const struct deflate_job *j)
{
	size_t n = strlen(entry_name(j));

	return (uint16_t)(n < NAME_MAX_B ? n : NAME_MAX_B);
}

/* Converts mtime to DOS date and time, or to 1980-01-01 if mtime is 0. */
static uint32_t
dos_time(uint32_t mtime)
{
	time_t t = mtime;
	struct tm tm;

	if (mtime == 0 || localtime_r(&t, &tm) == NULL || tm.tm_year < 80)
		return 1U << 21 | 1U << 16;
	return (uint32_t)(tm.tm_year - 80) << 25 |
	    (uint32_t)(tm.tm_mon + 1) << 21 | (uint32_t)tm.tm_mday << 16 |
	    (uint32_t)tm.tm_hour << 11 | (uint32_t)tm.tm_min << 5 |
	    (uint32_t)tm.tm_sec >> 1;
}

/*
 * Writes the fields shared by the local header and the directory, from "version
 * needed" to "file name length".
 */
static void
put_common(const struct deflate_job *j, uint8_t *p, bool big)
{
	store_le16(p, big ? 45 : 20);
	store_le16(p + 2, 8);		/* sizes follow the data */
	store_le16(p + 4, 8);		/* deflated */
	store_le32(p + 6, dos_time(j->options->mtime));
	store_le16(p + 22, name_len(j));
}

static int
zip_head(struct deflate_job *j, bool only_block, struct sink *out)
{
	uint8_t h[LOCAL] = { 'P', 'K', 3, 4 };
	int rc;

	(void)only_block;
	put_common(j, h + 4, false);
	rc = sink_write(out, h, sizeof(h));
	return rc != 0 ? rc : sink_write(out, entry_name(j), name_len(j));
}

static size_t
put_descriptor(uint8_t *p, uint32_t crc, uint64_t packed, uint64_t size,
    bool big)
{
	memcpy(p, "PK\7\10", 4);
	store_le32(p + 4, crc);
	if (big) {
		store_le64(p + 8, packed);
		store_le64(p + 16, size);
		return 24;
	}
	store_le32(p + 8, (uint32_t)packed);
	store_le32(p + 12, (uint32_t)size);
	return 16;
}

static int
put_directory(struct deflate_job *j, uint64_t packed, bool big,
    struct sink *out)
{
	uint8_t c[CENTRAL] = { 'P', 'K', 1, 2, 45, 3 };
	uint8_t x[ZIP64_FIELD] = { 1, 0, 16, 0 };
	int rc;

	put_common(j, c + 6, big);
	store_le32(c + 16, j->check);
	store_le32(c + 20, big ? UINT32_MAX : (uint32_t)packed);
	store_le32(c + 24, big ? UINT32_MAX : (uint32_t)j->total);
	store_le16(c + 30, big ? sizeof(x) : 0);
	store_le32(c + 38, 0100644U << 16);
	store_le64(x + 4, j->total);
	store_le64(x + 12, packed);
	rc = sink_write(out, c, sizeof(c));
	if (rc == 0)
		rc = sink_write(out, entry_name(j), name_len(j));
	return rc == 0 && big ? sink_write(out, x, sizeof(x)) : rc;
}

/*
 * Writes the end records: `at` is the directory's offset, and len its length.
 */
static size_t
put_end_records(uint8_t *p, uint64_t at, uint64_t len, bool big)
{
	size_t n = 0;

	if (big) {
		memcpy(p, "PK\6\6", 4);
		store_le64(p + 4, END64 - 12);
		store_le16(p + 12, 45);
		store_le16(p + 14, 45);
		store_le64(p + 24, 1);
		store_le64(p + 32, 1);
		store_le64(p + 40, len);
		store_le64(p + 48, at);
		memcpy(p + END64, "PK\6\7", 4);
		store_le64(p + END64 + 8, at + len);
		store_le32(p + END64 + 16, 1);
		n = END64 + LOCATOR64;
	}
	memcpy(p + n, "PK\5\6", 4);
	store_le16(p + n + 8, 1);
	store_le16(p + n + 10, 1);
	store_le32(p + n + 12, (uint32_t)len);
	store_le32(p + n + 16, big ? UINT32_MAX : (uint32_t)at);
	return n + END;
}

static int
zip_tail(struct deflate_job *j, struct sink *out)
{
	uint64_t packed = sink_bytes(out) - j->body_at, at, len;
	bool big = packed >= UINT32_MAX || j->total >= UINT32_MAX ||
	    sink_bytes(out) >= UINT32_MAX - 64;
	uint8_t p[END64 + LOCATOR64 + END] = { 0 };
	int rc;

	rc = sink_write(out, p, put_descriptor(p, j->check, packed, j->total,
	    big));
	at = sink_bytes(out);
	if (rc == 0)
		rc = put_directory(j, packed, big, out);
	len = sink_bytes(out) - at;
	memset(p, 0, sizeof(p));
	return rc != 0 ? rc : sink_write(out, p, put_end_records(p, at, len,
	    big));
}

static const struct deflate_wrap zip_wrap = {
	.check = &check_crc32, .head = zip_head, .tail = zip_tail,
};

static int
zip_open(void **job, const struct codec_options *o, const struct memory_plan *p,
    struct codec_notes *notes)
{
	(void)notes;
	return deflate_open(job, o, p, &zip_wrap);
}

const struct coder zip_encoder = DEFLATE_ENCODER(zip_open, deflate_work,
    deflate_join);
