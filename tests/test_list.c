/*
 * test_list.c - listings of files that are damaged, truncated or unreadable
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unread.h"

#include "base/bytes.h"
#include "format/codec.h"
#include "format/gzip/gzip.h"
#include "format/list.h"
#include "format/seek.h"
#include "format/skippable.h"
#include "pipeline/input.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>

enum {
	MIB = 1 << 20, STORED = 65535, SPACING = 64 << 10,
	BEYOND = 200000,	/* bytes that a truncated file lacks */
	/* parts of a zip archive's end */
	ENTRY = 46, END64 = 56, LOCATOR = 20, END = 22
};

/* The file being made. */
static uint8_t file[6 * MIB];
static size_t len;

static void
put(const void *p, size_t n)
{
	assert_true(n <= sizeof(file) - len);
	memcpy(file + len, p, n);
	len += n;
}

static void
put_le(uint64_t v, size_t n)
{
	uint8_t b[8];

	store_le64(b, v);
	put(b, n);
}

/* Puts stored blocks with n bytes, which no header or sync point resembles. */
static void
put_stored(size_t n, bool last)
{
	while (n > 0) {
		size_t size = n < STORED ? n : STORED;

		n -= size;
		put_le(last && n == 0, 1);
		put_le(size, 2);
		put_le(~size, 2);
		memset(file + len, 's', size);
		len += size;
	}
}

static void
put_sync(void)
{
	put("\0\0\0\xff\xff", 5);
}

static void
put_header(void)
{
	struct gzip_fields f = { .mtime = 0 };
	uint8_t header[64];

	put(header, gzip_header_write(&f, header));
}

/* Puts a small member of n bytes. */
static void
put_member(uint32_t n)
{
	put_header();
	put_stored(n, true);
	put_le(0, 4);
	put_le(n, 4);
}

/* Puts a member as pzc writes it, of five blocks of 1 MiB. */
static void
put_marked(void)
{
	uint8_t mark[GZIP_MARK_MAX];

	put_header();
	put(mark, gzip_mark_write(GZIP_EQUAL, MIB, mark));
	for (int i = 0; i < 5; i++) {
		put_stored(MIB, i == 4);
		if (i < 4)
			put_sync();
	}
	put_le(0, 4);
	put_le(5 * MIB, 4);
}

static int
list_gzip(int fd)
{
	struct codec_listing l = { .size = 0 };

	return gzip_list(fd, len, &l);
}

/* Lists a file that is shorter than it was. */
static int
list_truncated(int fd)
{
	struct codec_listing l = { .size = 0 };

	return gzip_list(fd, len + BEYOND, &l);
}

static int
list_zip(int fd)
{
	struct codec_listing l = { .size = 0 };

	return zip_list(fd, len, &l);
}

/* Checks the listing of the file made. */
static void
lists(int (*list)(int fd, uint64_t len, struct codec_listing *l), int want,
    uint64_t size, bool exact)
{
	struct codec_listing l = { .size = 0 };
	int fd = unread_file(file, len);

	assert_int_equal(list(fd, len, &l), want);
	if (want == 0) {
		assert_true(l.has_size);
		assert_int_equal(l.size, size);
		assert_int_equal(l.exact, exact);
	}
	close(fd);
}

/* Each read fails in turn, or comes after the file has shrunk to nothing. */
static void
suffers(int (*list)(int fd))
{
	unread_each(list, file, len, FAULT_PREAD, "EIO", -EIO);
	unread_each(list, file, len, FAULT_MALLOC, "ENOMEM", -ENOMEM);
	unread_shrinks(list, file, len, 0, -ENODATA);
}

/* Only the last bytes tell the size of a large member. */
static void
gzip_unknown(void **state)
{
	(void)state;
	len = 0;
	put_member(9 * MIB / 2);
	lists(gzip_list, 0, 9 * MIB / 2, false);
	suffers(list_gzip);
	unread_shrinks(list_gzip, file, len, (off_t)len - 3, -ENODATA);
}

/* A member of BGZF tells its length. */
static void
gzip_of_length(void **state)
{
	static const uint8_t header[] = { 0x1f, 0x8b, 8, GZIP_FEXTRA, 0, 0, 0,
	    0, 0, 255, 6, 0, 'B', 'C', 2, 0 };

	(void)state;
	len = 0;
	put(header, sizeof(header));
	put_le(sizeof(header) + 2 + 5 + 20000 + GZIP_TRAILER - 1, 2);
	put_stored(20000, true);
	put_le(0, 4);
	put_le(20000, 4);
	lists(gzip_list, 0, 20000, true);
	suffers(list_gzip);
	unread_shrinks(list_gzip, file, len, (off_t)len - 3, -ENODATA);
}

/* The last member is cut off in its header. */
static void
gzip_cut_header(void **state)
{
	(void)state;
	len = 0;
	put_member(1000);
	lists(gzip_list, 0, 1000, true);
	put("\x1f\x8b\x08", 3);
	lists(gzip_list, -ENODATA, 0, false);
}

static void
gzip_marked(void **state)
{
	(void)state;
	len = 0;
	put_marked();
	lists(gzip_list, 0, 5 * MIB, true);
	suffers(list_gzip);
	/* the last read is of the size at the end */
	unread_each(list_truncated, file, len, FAULT_PREAD, "EIO", -EIO);
	unread_shrinks(list_truncated, file, len, (off_t)len, -ENODATA);
	unread_shrinks(list_truncated, file, len, (off_t)len + BEYOND - 3,
	    -ENODATA);
}

/* What follows a member whose end was guessed shows whether that was right. */
static void
gzip_guessed(void **state)
{
	size_t end;

	(void)state;
	len = 0;
	put_marked();
	put_member(300);
	lists(gzip_list, 0, 5 * MIB + 300, true);
	end = len;
	put("\0\0\0\0\0\0\0\0", 8);
	lists(gzip_list, 0, 5 * MIB + 300, true);
	for (size_t i = end; i < len; i++) {
		file[i] = 1;
		lists(gzip_list, 0, load_le32(file + len - 4), false);
		file[i] = 0;
	}
}

/* The file ends in the name in its header, which is not as long as a look. */
static void
gzip_cut_name(void **state)
{
	(void)state;
	len = 0;
	put("\x1f\x8b\x08\x08\0\0\0\0\0\3", 10);
	memset(file + len, 'n', LOOK_MAX);
	len = 110;
	lists(gzip_list, -ENODATA, 0, false);
	len = LOOK_MAX - 1;
	lists(gzip_list, -ENODATA, 0, false);
	/* what is longer may be a header of any length */
	len = LOOK_MAX;
	lists(gzip_list, 0, load_le32((const uint8_t *)"nnnn"), false);
}

/* Zip archives */

/* Where the parts of the archive made are. */
static size_t entry, end64, locator;

static void
put_end64(uint64_t entries)
{
	put("PK\6\6", 4);
	put_le(END64 - 12, 8);
	put_le(0, 4);
	put_le(0, 8);
	put_le(entries, 8);
	put_le(entries, 8);
	put_le(ENTRY, 8);
	put_le(entry, 8);
}

/*
 * Makes the directory of an archive whose end lacks the number of entries; the
 * gap is before the locator.
 */
static void
make_zip(size_t gap)
{
	len = 0;
	put_le(0, 8);
	entry = len;
	put("PK\1\2", 4);
	put_le(0, 8);
	put_le(0, 8);
	put_le(12345, 4);
	put_le(54321, 4);
	put_le(0, 8);
	put_le(0, 8);
	put_le(0, 2);
	assert_int_equal(len, entry + ENTRY);
	end64 = len;
	put_end64(1);
	assert_int_equal(len, end64 + END64);
	memset(file + len, 0, gap);
	len += gap;
	locator = len;
	put("PK\6\7", 4);
	put_le(0, 4);
	put_le(end64, 8);
	put_le(1, 4);
	put("PK\5\6", 4);
	put_le(0, 4);
	put_le(UINT16_MAX, 2);
	put_le(UINT16_MAX, 2);
	put_le(ENTRY, 4);
	put_le(entry, 4);
	put_le(0, 2);
	assert_int_equal(len, locator + LOCATOR + END);
}

static void
zip64(void **state)
{
	(void)state;
	make_zip(70000);
	lists(zip_list, 0, 54321, true);
	unread_each(list_zip, file, len, FAULT_PREAD, "EIO", -EIO);
	/* the directory, which is read last, is gone */
	unread_fd = unread_file(file, len);
	unread_len = (off_t)entry;
	signal(SIGHUP, unread_shorten);
	assert_int_equal(unread_once(list_zip, file, len, FAULT_PREAD, 3,
	    "HUP"), -EBADMSG);
	close(unread_fd);
	/* the record is not where the locator says */
	store_le64(file + locator + 8, end64 + 1);
	lists(zip_list, -EBADMSG, 0, false);
	store_le64(file + locator + 8, locator + LOCATOR + 1);
	lists(zip_list, -EBADMSG, 0, false);
	store_le64(file + locator + 8, UINT64_MAX);
	lists(zip_list, -EBADMSG, 0, false);
	for (int i = 0; i < 4; i++) {
		make_zip(70000);
		file[entry + (size_t)i] ^= 1;
		lists(zip_list, -EBADMSG, 0, false);
	}
	for (int i = 0; i < 4; i++) {
		make_zip(0);
		lists(zip_list, 0, 54321, true);
		file[end64 + (size_t)i] ^= 1;
		lists(zip_list, -EBADMSG, 0, false);
	}
}

/* The comment is so long that the locator is read by itself. */
static void
zip64_comment(void **state)
{
	(void)state;
	make_zip(70000);
	store_le16(file + len - 2, UINT16_MAX);
	memset(file + len, 'c', UINT16_MAX);
	len += UINT16_MAX;
	lists(zip_list, 0, 54321, true);
	unread_each(list_zip, file, len, FAULT_PREAD, "EIO", -EIO);
	unread_fd = unread_file(file, len);
	for (unread_len = (off_t)locator; unread_len <
	    (off_t)locator + LOCATOR; unread_len++)
		assert_int_equal(unread_once(list_zip, file, len, FAULT_PREAD,
		    2, "HUP"), -EBADMSG);
	close(unread_fd);
}

/* A record that the file is too short for by one byte. */
static void
zip64_cut(void **state)
{
	uint64_t at;

	(void)state;
	make_zip(70000);
	at = len - END64 + 1;
	memcpy(file + at, "PK\6\6", 4);
	store_le64(file + locator + 8, at);
	/* what would be read as its offset of the entry, from the end */
	memmove(file + 256, file + entry, ENTRY);
	store_le32(file + locator + LOCATOR + 16, 1);
	lists(zip_list, -EBADMSG, 0, false);
}

/* Blocks of gzip */

static struct look *
look_file(int fd)
{
	struct look *look = look_open(fd, len);

	assert_non_null(look);
	return look;
}

static int
is_block(int fd)
{
	struct look *look = look_open(fd, len);
	int rc = look == NULL ? -ENOMEM : gzip_is_block(look, 0, len, 300000);

	look_close(look);
	return rc;
}

static void
blocks(void **state)
{
	struct gzip_header h = { .block_min = 1, .block_max = 100000 };
	struct look *look;
	int fd;

	(void)state;
	len = 0;
	put_stored(300000, false);
	put_sync();
	fd = unread_file(file, len);
	look = look_file(fd);
	assert_int_equal(gzip_is_block(look, 0, len, 300000), 1);
	assert_int_equal(gzip_is_block(look, 0, len, 300001), 0);
	assert_int_equal(gzip_is_block(look, 0, len, 299999), 0);
	/* the first block is larger than the mark says */
	assert_int_equal(gzip_block_size(&h, look, 0), -EBADMSG);
	h.block_max = 299999;
	assert_int_equal(gzip_block_size(&h, look, 0), -EBADMSG);
	h.block_max = 300001;
	assert_int_equal(gzip_block_size(&h, look, 0), 0);
	assert_int_equal(h.block_min, 300000);
	look_close(look);
	close(fd);
	suffers(is_block);
}

/* The CRC of n times 's' */
static uint32_t
crc_of(size_t n)
{
	uLong crc = 0;

	for (size_t i = 0; i < n; i++)
		crc = crc32(crc, (const Bytef *)"s", 1);
	return (uint32_t)crc;
}

/* Members of gzip */

static int
is_member(int fd)
{
	struct look *look = look_open(fd, len);
	int rc = look == NULL ? -ENOMEM : gzip_is_member(look, 0, len);

	look_close(look);
	return rc;
}

/* Returns what is said of the bytes from..to. */
static int
member_at(uint64_t from, uint64_t to)
{
	int fd = unread_file(file, len), rc;
	struct look *look = look_file(fd);

	rc = gzip_is_member(look, from, to);
	look_close(look);
	close(fd);
	return rc;
}

static void
single_members(void **state)
{
	enum { N = 70000 };

	(void)state;
	len = 0;
	put_member(N);
	store_le32(file + len - 8, crc_of(N));
	assert_int_equal(member_at(0, len), 1);
	for (uint64_t cut = 1; cut < 30; cut++) {
		assert_int_equal(member_at(0, len - cut), 0);
		assert_int_equal(member_at(cut, len), 0);
		assert_int_equal(member_at(0, cut), 0);
	}
	put("\0", 1);
	assert_int_equal(member_at(0, len), 0);
	len--;
	for (size_t i = len - GZIP_TRAILER; i < len; i++) {
		file[i] ^= 1;
		assert_int_equal(member_at(0, len), 0);
		file[i] ^= 1;
	}
	unread_each(is_member, file, len, FAULT_PREAD, "EIO", -EIO);
	unread_each(is_member, file, len, FAULT_MALLOC, "ENOMEM", -ENOMEM);
	unread_shrinks(is_member, file, len, 0, 0);
}

/* LZ4 */

enum { LZ4_BLOCK = 64 << 10 };

/* Puts a header: blocks of 64 KiB, without checksums. */
static void
put_lz4_head(void)
{
	static const uint8_t flags[] = { 0x60, 0x40 };

	len = 0;
	put_le(0x184d2204, 4);
	put(flags, 2);
	put_le(XXH32(flags, 2, 0) >> 8 & 0xff, 1);
}

/* Puts a block of a byte that is repeated n times. */
static void
put_lz4_run(size_t n)
{
	size_t at = len;

	put_le(0, 4);
	put("\x1f" "a\1\0", 4);
	for (n -= 1 + 19 + 5; n >= 255; n -= 255)
		put("\xff", 1);
	put_le(n, 1);
	put("\x50" "aaaaa", 6);
	store_le32(file + at, (uint32_t)(len - at - 4));
}

/* How many units the map of the file has. */
static size_t
lz4_units(void)
{
	struct seek_need need = SEEK_NEED_ALL;
	int fd = unread_file(file, len);
	struct seek_map m;
	size_t n;

	assert_int_equal(seek_map_open(&m, codec_by_name("lz4"), fd, len,
	    &need), 0);
	n = m.count;
	seek_map_close(&m);
	close(fd);
	return n;
}

static int
list_any(const char *name, size_t n)
{
	struct codec_listing l = { .size = 0 };
	int fd = unread_file(file, n), rc;

	rc = codec_by_name(name)->list(fd, n, &l);
	close(fd);
	return rc;
}

static void
lz4_blocks(void **state)
{
	static const uint8_t cut[] = "\x1f" "a\1";

	(void)state;
	/* as large as a block may be, and one byte more */
	for (uint32_t more = 0; more < 2; more++) {
		put_lz4_head();
		put_le(UINT32_C(0x80000000) | (LZ4_BLOCK + more), 4);
		memset(file + len, 'x', LZ4_BLOCK + more);
		len += LZ4_BLOCK + more;
		put_le(0, 4);
		assert_int_equal(list_any("lz4", len), more ? -EBADMSG : 0);
		assert_int_equal(lz4_units(), more ? 0 : 2);
		put_lz4_head();
		put_lz4_run(LZ4_BLOCK + more);
		put_le(0, 4);
		assert_int_equal(list_any("lz4", len), 0);
		assert_int_equal(lz4_units(), more ? 0 : 2);
	}
	/* no end mark, or a part of it */
	for (size_t n = 0; n < 4; n++) {
		put_lz4_head();
		put_lz4_run(100);
		put("\0\0\0", n);
		assert_int_equal(list_any("lz4", len), -ENODATA);
		assert_int_equal(lz4_units(), 0);
	}
	/* a block that is none */
	put_lz4_head();
	put_le(3, 4);
	put(cut, 3);
	put_le(0, 4);
	assert_int_equal(lz4_units(), 0);
}

/* A header of 13 bytes, of which some are missing. */
static void
lzma_header(void **state)
{
	(void)state;
	len = 0;
	put("\x5d\0\0\x10\0", 5);
	put_le(77, 8);
	for (size_t n = 0; n <= len; n++)
		assert_int_equal(list_any("lzma", n), n < len ? -ENODATA : 0);
}

/* Side indexes */

static int
make_index(int fd)
{
	static const struct convert made_by = { .options = { .threads = 1 } };
	int out = memfd_create("index", MFD_CLOEXEC);
	int rc = seek_index_make(&made_by, fd, len, SPACING, out);

	close(out);
	return rc;
}

static void
makes(int want)
{
	int fd = unread_file(file, len);

	assert_int_equal(make_index(fd), want);
	close(fd);
}

static void
indexes(void **state)
{
	size_t whole, n;

	(void)state;
	/* all that is in the buffer is used up before the trailer */
	len = 0;
	put_header();
	n = LOOK_MAX - len - 2 * 5;
	put_stored(n, true);
	assert_int_equal(len, LOOK_MAX);
	put_le(crc_of(n), 4);
	put_le(n, 4);
	whole = len;
	unread_each(make_index, file, len, FAULT_PREAD, "EIO", -EIO);
	unread_shrinks(make_index, file, len, (off_t)len / 2, -ESTALE);
	for (len = whole - 8; len < whole; len++)
		makes(-ENODATA);
	/* only a header that is complete, or none, may follow */
	makes(0);
	put("\x1f", 1);
	makes(-ENODATA);
	put("\x8a\x08", 2);
	makes(0);
	file[whole + 1] = 0x8b;
	makes(-ENODATA);
}

/* Reads a few bytes at `from` of a gzip file with its index. */
static int
read_indexed(int fd, int index, uint64_t from)
{
	struct seek_range r = { .from = from, .len = 9 };
	struct convert c = { .codec = codec_by_name("gzip"),
	    .decompress = true, .options = { .threads = 1,
	    .window_max = 1 << 27 } };
	struct seek_result result;
	struct seek_map m;
	int rc = seek_map_index(&m, c.codec, fd, len, index);

	if (rc == 0) {
		rc = seek_read(&m, &c, &r, false, -1, &result);
		seek_map_close(&m);
	}
	return rc;
}

/* Each read for a range between points that are inside bytes fails. */
static void
index_unread(void **state)
{
	static const struct convert made_by = { .options = { .threads = 1 } };
	static uint8_t text[5 * SPACING];
	z_stream z = { .next_in = text, .avail_in = sizeof(text),
	    .next_out = file, .avail_out = sizeof(file) };
	uint32_t seed = 3;
	unsigned long n;
	char plan[64];
	int fd, index = memfd_create("index", MFD_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = (uint8_t)"whether it is read"[(seed >> 16) % 18];
	}
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 1, 0), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	len = z.total_out;
	deflateEnd(&z);
	fd = unread_file(file, len);
	assert_int_equal(seek_index_make(&made_by, fd, len, SPACING / 4,
	    index), 0);
	for (uint64_t from = 1; from < sizeof(text); from += SPACING) {
		assert_true(fault_plan(""));
		assert_int_equal(read_indexed(fd, index, from), 0);
		n = fault_count(FAULT_PREAD);
		assert_true(n > 4);
		for (unsigned long k = 1; k <= n; k++) {
			snprintf(plan, sizeof(plan), "pread:%lu:EIO", k);
			assert_true(fault_plan(plan));
			assert_int_equal(read_indexed(fd, index, from), -EIO);
		}
	}
	assert_true(fault_plan(""));
	close(index);
	close(fd);
}

/* Skippable frames */

/*
 * Returns whether skippable_shorten() skips a frame of n bytes before these
 * bytes.
 */
static bool
skips(uint32_t n, const void *next, size_t next_len)
{
	uint8_t got[1024];
	struct input in;
	ssize_t had;
	int fd;

	len = 0;
	put_le(0x184d2a53, 4);
	put_le(n, 4);
	memset(file + len, 'k', n);
	len += n;
	put(next, next_len);
	fd = unread_file(file, len);
	assert_int_equal(input_open(&in, fd), 0);
	assert_int_equal(skippable_shorten(&in), 0);
	had = input_read(&in, got, sizeof(got));
	assert_true(had >= 10);
	assert_memory_equal(got + had - 2, file + len - 2, 2);
	input_close(&in);
	close(fd);
	return load_le32(got + 4) != n;
}

/* A frame is kept if the first bytes show what follows it. */
static void
skippable(void **state)
{
	static const char data[] = "\x28\xb5\x2f\xfd this is no frame";
	static const char frame[] = "\x50\x2a\x4d\x18\4\0\0\0abcd\x28\xb5";

	(void)state;
	for (uint32_t left = 0; left < 16; left++) {
		uint32_t n = CODEC_MAGIC_MAX - 8 - left;

		assert_int_equal(skips(n, data, sizeof(data)), left < 4);
		/* 16 bytes are needed after that frame */
		assert_int_equal(skips(n, frame, sizeof(frame)), left < 16);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gzip_unknown),
		cmocka_unit_test(gzip_of_length),
		cmocka_unit_test(gzip_cut_header),
		cmocka_unit_test(gzip_cut_name),
		cmocka_unit_test(gzip_marked),
		cmocka_unit_test(gzip_guessed),
		cmocka_unit_test(zip64),
		cmocka_unit_test(zip64_comment),
		cmocka_unit_test(zip64_cut),
		cmocka_unit_test(blocks),
		cmocka_unit_test(single_members),
		cmocka_unit_test(lz4_blocks),
		cmocka_unit_test(lzma_header),
		cmocka_unit_test(indexes),
		cmocka_unit_test(index_unread),
		cmocka_unit_test(skippable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
