/*
 * list_xz.c - the uncompressed size of an xz or lzma file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Every stream of an xz file ends with an index; liblzma reads the indexes from
 * the last to the first.
 */
#include "format/list.h"

#include "base/bytes.h"
#include "format/look.h"
#include "xz_index.h"

#include <errno.h>
#include <lzma.h>

/* Enough for indexes of about 8 million blocks. */
#define INDEX_MEMORY ((uint64_t)128 << 20)

int
xz_read_index(struct look *look, lzma_index **index)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret r = lzma_file_info_decoder(&z, index, INDEX_MEMORY,
	    look->len);
	const uint8_t *p;
	uint64_t at = 0;
	ssize_t n = 0;

	while (r == LZMA_OK || r == LZMA_SEEK_NEEDED) {
		if (r == LZMA_SEEK_NEEDED) {
			at = z.seek_pos;
			z.avail_in = 0;
		}
		if (z.avail_in == 0) {
			n = look_at(look, at, LOOK_STEP, &p);
			if (n <= 0)
				break;
			z.next_in = p;
			z.avail_in = (size_t)n;
			at += (uint64_t)n;
		}
		r = lzma_code(&z, LZMA_RUN);
	}
	lzma_end(&z);
	if (n < 0)
		return (int)n;
	return r == LZMA_OK || r == LZMA_SEEK_NEEDED ? -ENODATA : xz_error(r);
}

static const char *
check_name(uint32_t checks)
{
	static const struct {
		lzma_check check;
		const char *name;
	} names[] = {
		{ LZMA_CHECK_NONE, "none" }, { LZMA_CHECK_CRC32, "CRC-32" },
		{ LZMA_CHECK_CRC64, "CRC-64" },
		{ LZMA_CHECK_SHA256, "SHA-256" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (checks == (uint32_t)1 << names[i].check)
			return names[i].name;
	return checks & (checks - 1) ? "mixed" : "unknown";
}

int
xz_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	lzma_index *index = NULL;
	int rc;

	if (look == NULL)
		return -ENOMEM;
	rc = xz_read_index(look, &index);
	look_close(look);
	if (rc != 0)
		return rc;
	l->check = check_name(lzma_index_checks(index));
	l->frames = lzma_index_stream_count(index);
	l->has_size = l->exact = true;
	list_add(l, lzma_index_uncompressed_size(index));
	lzma_index_end(index, NULL);
	return 0;
}

/*
 * Reads the size, which is in the header unless the stream ends with a marker.
 */
int
lzma_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	const uint8_t *p;
	ssize_t n;

	if (look == NULL)
		return -ENOMEM;
	n = look_at(look, 0, 13, &p);
	if (n == 13 && load_le64(p + 5) != UINT64_MAX) {
		l->has_size = l->exact = true;
		list_add(l, load_le64(p + 5));
	}
	l->frames = 1;
	look_close(look);
	return n < 0 ? (int)n : n < 13 ? -ENODATA : 0;
}
