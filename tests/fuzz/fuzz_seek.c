/*
 * fuzz_seek.c - ranges of arbitrary files and indexes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte gives the file type (gzip, zstd, lz4, xz) or, if its top bit
 * is set, means that the bytes are an index of a valid gzip file; the next two
 * are the start of a range.  If a table is wrong, the data may differ, so this
 * only detects crashes, leaks and unbounded memory use.  The hashes of an index
 * are corrected, because it would otherwise be rejected.
 */
#include "../../src/format/gzip/seek_index.h"
#include "base/bytes.h"
#include "format/seek.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

enum { PLAIN = 300000, PACKED = 400000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
file_of(const uint8_t *p, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd == -1 || write(fd, p, len) != (ssize_t)len)
		abort();
	return fd;
}

/* Creates the valid gzip file, which is the same in every run. */
static int
good_gzip(uint64_t *len)
{
	static uint8_t plain[PLAIN], packed[PACKED];
	z_stream z = { .next_in = plain, .avail_in = PLAIN,
	    .next_out = packed, .avail_out = PACKED };

	for (uint32_t i = 0, x = 1; i < PLAIN; i++) {
		x = x * 1103515245 + 12345;
		plain[i] = "abcdefgh"[x >> 24 & (i >> 12 & 7)];
	}
	if (deflateInit2(&z, 6, Z_DEFLATED, 31, 3, 0) != Z_OK ||
	    deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	deflateEnd(&z);
	*len = PACKED - z.avail_out;
	return file_of(packed, *len);
}

/* Makes an index match the file; the rest of the index is unchanged. */
static int
index_of(const uint8_t *data, size_t size, int fd, uint64_t len)
{
	struct index_binding b;
	XXH64_state_t *x = XXH64_createState();
	uint8_t *p = malloc(size + 1);
	size_t points, used;
	int made;

	if (p == NULL || x == NULL || index_bind(&b, fd, len) != 0)
		abort();
	memcpy(p, data, size);
	if (size >= INDEX_HEAD) {
		store_le64(p, INDEX_MAGIC);
		store_le32(p + 8, INDEX_VERSION);
		store_le64(p + 16, size);
		store_le64(p + 24, b.len);
		store_le64(p + 32, (uint64_t)b.mtime);
		store_le32(p + 40, b.mtime_ns);
		store_le64(p + 48, b.hash);
		points = load_le32(p + 12);
		used = size - INDEX_HEAD;
		used = points < used / INDEX_POINT ? points * INDEX_POINT :
		    used / INDEX_POINT * INDEX_POINT;
		XXH64_reset(x, 0);
		XXH64_update(x, p, INDEX_HEAD - 8);
		XXH64_update(x, p + size - used, used);
		store_le64(p + INDEX_HEAD - 8, XXH64_digest(x));
	}
	XXH64_freeState(x);
	made = file_of(p, size);
	free(p);
	return made;
}

static void
read_range(struct seek_map *m, uint64_t from)
{
	struct convert c = { .codec = m->codec, .decompress = true,
	    .options = { .threads = 1, .window_max = 1 << 20 } };
	struct seek_range r = { .from = from, .len = 1000 };
	struct seek_result result;
	size_t i;

	for (i = 1; i < m->count; i++)
		if (m->units[i].plain < m->units[i - 1].plain ||
		    m->units[i].at < m->units[i - 1].at ||
		    m->units[i].at > m->len)
			abort();
	/* a decompression bomb takes a long time and reveals no more errors */
	if (m->count > 0 && m->units[m->count - 1].plain < 64 << 20)
		seek_read(m, &c, &r, false, -1, &result);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "gzip", "zstd", "lz4", "xz" };
	struct seek_need need;
	struct seek_map m;
	uint64_t len = size - 3;
	int fd, index = -1, rc;

	if (size < 3)
		return 0;
	if (data[0] & 0x80) {
		fd = good_gzip(&len);
		index = index_of(data + 3, size - 3, fd, len);
		rc = seek_map_index(&m, codec_by_name("gzip"), fd, len,
		    index);
	} else {
		fd = file_of(data + 3, size - 3);
		need = SEEK_NEED_ALL;
		if (data[0] & 0x40)
			need = (struct seek_need){ data[0] & 0x20 ?
			    load_le16(data + 1) * UINT64_C(64) : 0,
			    load_le16(data + 1) * UINT64_C(64) + 1000, 0 };
		rc = seek_map_open(&m, codec_by_name(names[data[0] & 3]), fd,
		    len, &need);
	}
	if (rc == 0) {
		read_range(&m, load_le16(data + 1) * UINT64_C(64));
		seek_map_close(&m);
	}
	if (index != -1)
		close(index);
	close(fd);
	return 0;
}
