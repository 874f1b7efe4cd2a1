/*
 * test_seek_zstd.c - maps of zstd files whose tables or frames are wrong
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unread.h"

#include "../src/format/zstd/zstd_job.h"
#include "base/bytes.h"
#include "format/seek_formats.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include <zstd.h>

enum { BLOCK = 128 << 10, JOB = 4 << 20, RAW = 0, RLE = 1, RESERVED = 3 };

static const char *const listed = "frames listed in the seek table";
static const char *const walked = "frames of known size";

/* The file being made. */
static uint8_t file[1 << 20];
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

/* Puts a frame of n equal blocks and known size.  Returns its length. */
static uint32_t
put_frame(unsigned n, bool checksum)
{
	static uint8_t plain[4 * BLOCK], packed[4096];
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t size;

	memset(plain, 'a', sizeof(plain));
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, checksum);
	size = ZSTD_compress2(c, packed, sizeof(packed), plain,
	    (size_t)n * BLOCK);
	ZSTD_freeCCtx(c);
	assert_false(ZSTD_isError(size));
	put(packed, size);
	return (uint32_t)size;
}

static void
put_block(unsigned type, uint32_t size, bool last)
{
	put_le((uint64_t)size << 3 | type << 1 | last, 3);
	if (type == RAW)
		memset(file + len, 'r', size);
	len += type == RAW ? size : type == RLE ? 1 : 0;
	if (type == RLE)
		file[len - 1] = 'j';
}

static void
put_marks(unsigned n)
{
	while (n-- > 0)
		put_block(RAW, 0, false);
}

/* Puts the blocks of a full job, and the marks after it and before the next. */
static void
put_job(void)
{
	for (int i = 0; i < JOB / BLOCK; i++)
		put_block(RLE, BLOCK, false);
	put_marks(zstd_job_marks(JOB) + ZSTD_JOB_LEAD);
}

/* Puts a header without a size, for frames of jobs. */
static void
put_head(void)
{
	uint8_t head[ZSTD_JOB_HEAD];

	zstd_job_head(head, 11 << 3);
	put(head, sizeof(head));
	put_marks(ZSTD_JOB_LEAD);
}

/* Puts a seek table of count frames: length and size of each in turn. */
static void
put_table(const uint32_t *sizes, uint32_t count, bool checksums)
{
	uint32_t entry = checksums ? 12 : 8;

	put_le(0x184d2a5e, 4);
	put_le(count * entry + 9, 4);
	for (uint32_t i = 0; i < count; i++) {
		put_le(sizes[2 * i], 4);
		put_le(sizes[2 * i + 1], 4);
		if (checksums)
			put_le(0x12345678, 4);
	}
	put_le(count, 4);
	put_le(checksums ? 0x80 : 0, 1);
	put_le(0x8f92eab1, 4);
}

static int
open_map(struct seek_map *m, int fd)
{
	return seek_map_open(m, codec_by_name("zstd"), fd, len, &SEEK_NEED_ALL);
}

/* Checks how the file is mapped; NULL: not at all. */
static void
maps(const char *how, bool checked)
{
	struct seek_map m;
	int fd = unread_file(file, len);

	assert_int_equal(open_map(&m, fd), 0);
	if (how == NULL) {
		assert_int_equal(m.count, 0);
	} else {
		assert_true(m.count > 1);
		assert_string_equal(m.how, how);
		assert_int_equal(m.checked, checked);
	}
	seek_map_close(&m);
	close(fd);
}

/* Makes two frames of 3 and 2 blocks, and their table. */
static void
make_listed(bool checksum, bool checksums)
{
	uint32_t sizes[4] = { 0, 3 * BLOCK, 0, 2 * BLOCK };

	len = 0;
	sizes[0] = put_frame(3, checksum);
	sizes[2] = put_frame(2, checksum);
	put_table(sizes, 2, checksums);
}

/* The units are the same, whether the table is used or not. */
static void
good_tables(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct seek_map m;
		int fd;

		make_listed((i & 1) != 0, (i & 2) != 0);
		file[len - 1] ^= i & 4;
		fd = unread_file(file, len);
		assert_int_equal(open_map(&m, fd), 0);
		assert_string_equal(m.how, i & 4 ? walked : listed);
		assert_int_equal(m.checked, i & 1);
		/* otherwise the table is a unit without data */
		assert_int_equal(m.count, i & 4 ? 4 : 3);
		assert_int_equal(m.units[0].at, 0);
		assert_int_equal(m.units[1].plain, 3 * BLOCK);
		assert_memory_equal(file + m.units[1].at, "\x28\xb5\x2f\xfd",
		    4);
		assert_int_equal(m.units[1].frame, m.units[1].at);
		assert_int_equal(m.units[2].plain, 5 * BLOCK);
		seek_map_close(&m);
		close(fd);
	}
}

/* A table that is not exactly one, or does not match the file, is not used. */
static void
wrong_tables(void **state)
{
	static const struct {
		size_t back;		/* from the end of the file */
		uint8_t flip;
		bool used;
	} cases[] = {
		{ 1, 1, false }, { 2, 1, false }, { 3, 1, false },
		{ 4, 1, false },	/* the magic number at the end */
		{ 5, 1, true }, { 5, 2, true },	/* bits without meaning */
		{ 5, 4, false }, { 5, 8, false }, { 5, 16, false },
		{ 5, 32, false }, { 5, 64, false },	/* reserved bits */
		{ 5, 128, false },	/* with checksums */
		{ 6, 1, false }, { 9, 1, false }, { 9, 2, false },
		{ 17, 1, false },	/* a packed size */
		{ 25, 1, false }, { 24, 1, false }, { 22, 128, false },
		{ 33, 15, false },	/* another skippable frame */
		{ 33, 14, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		make_listed(true, false);
		file[len - cases[i].back] ^= cases[i].flip;
		maps(cases[i].used ? listed : walked, true);
	}
	/* the frame of the table does not end with the file */
	make_listed(true, false);
	file[len - 29]++;
	maps(NULL, false);
}

/* The data before the table is not zstd's. */
static void
table_of_garbage(void **state)
{
	const uint32_t sizes[4] = { 100, 3 * BLOCK, 200, 2 * BLOCK };

	(void)state;
	memset(file, 'x', 300);
	len = 300;
	put_table(sizes, 2, false);
	maps(NULL, false);
}

/* The table's sizes are not those of the data, which the frames do not tell. */
static void
table_of_lies(void **state)
{
	struct convert c = { .codec = codec_by_name("zstd"),
	    .decompress = true, .options = { .threads = 1,
	    .window_max = 1 << 27 } };

	(void)state;
	for (int more = -1; more <= 1; more++) {
		uint32_t sizes[4] = { 0, 100, 0, (uint32_t)(100 + more) };
		struct seek_range r = { .from = 50, .len = SIZE_MAX };
		struct seek_result result;
		struct seek_map m;
		int fd;

		len = 0;
		for (int i = 0; i < 4; i += 2) {
			size_t begin = len;

			/* a window of 1 KiB, and no size */
			put("\x28\xb5\x2f\xfd\0\0", 6);
			put_block(RAW, 100, true);
			sizes[i] = (uint32_t)(len - begin);
		}
		put_table(sizes, 2, false);
		fd = unread_file(file, len);
		assert_int_equal(open_map(&m, fd), 0);
		assert_string_equal(m.how, listed);
		assert_int_equal(m.units[m.count - 1].plain, 200 + more);
		assert_int_equal(seek_read(&m, &c, &r, true, -1, &result),
		    more == 0 ? 0 : -EBADMSG);
		if (more != 0)
			assert_non_null(strstr(result.why, "sizes"));
		seek_map_close(&m);
		close(fd);
	}
}

/* Makes a frame of two full jobs and a last one of n bytes, and its size. */
static uint64_t
make_jobs(uint32_t n)
{
	len = 0;
	put_head();
	put_job();
	put_job();
	put_block(RAW, n, true);
	return 2 * (uint64_t)JOB + n;
}

static void
jobs(void **state)
{
	uint64_t size = make_jobs(100001);
	struct convert c = { .codec = codec_by_name("zstd"),
	    .decompress = true, .options = { .threads = 1,
	    .window_max = 1 << 27 } };
	struct seek_range r = { .from = size - 5, .len = 5 };
	struct seek_result result;
	struct seek_map m;
	int fd = unread_file(file, len), out = memfd_create("out", MFD_CLOEXEC);
	char got[5];

	(void)state;
	assert_int_equal(open_map(&m, fd), 0);
	assert_string_equal(m.how, "jobs of a frame");
	assert_false(m.checked);
	assert_int_equal(m.count, 4);
	assert_int_equal(m.units[1].plain, JOB);
	assert_int_equal(m.units[1].frame, 0);
	assert_int_equal(m.units[2].plain, 2 * JOB);
	assert_int_equal(m.units[3].plain, size);
	assert_int_equal(m.units[3].at, len);
	assert_int_equal(seek_read(&m, &c, &r, false, out, &result), 0);
	assert_int_equal(pread(out, got, 5, 0), 5);
	assert_memory_equal(got, "rrrrr", 5);
	assert_true(result.made_B < JOB);
	seek_map_close(&m);
	close(out);
	close(fd);
}

/* Calls the format's function, for its own error. */
static int
map_directly(int fd)
{
	struct seek_map m = { .fd = fd, .len = len, .need = UINT64_MAX,
	    .spacing = 1, .held = { .at = UINT64_MAX } };
	int rc;

	m.look = look_open(fd, len);
	assert_non_null(m.look);
	rc = zstd_seek.map(&m);
	seek_map_close(&m);
	return rc;
}

static void
wrong_jobs(void **state)
{
	int fd;

	(void)state;
	/* one job: nothing tells where it ends but decoding */
	len = 0;
	put_head();
	put_block(RAW, 1000, true);
	fd = unread_file(file, len);
	assert_int_equal(map_directly(fd), -ENODATA);
	close(fd);
	maps(NULL, false);
	/* the last job cannot be decoded */
	make_jobs(10);
	file[len - 13] = 10 << 3 | RESERVED << 1 | 1;
	fd = unread_file(file, len);
	assert_int_equal(map_directly(fd), -EBADMSG);
	close(fd);
	maps(NULL, false);
}

/* A frame of jobs in the middle of a map, of which parts are used. */
static void
parts(void **state)
{
	struct seek_unit from = { .at = 0 }, to = { .at = 0 };
	struct seek_stream s;
	struct seek_map m = { .len = 0 };
	int fd;

	(void)state;
	make_jobs(10);
	m.len = len;
	fd = unread_file(file, len);
	m.look = look_open(fd, len);
	assert_non_null(m.look);
#define PART() (s = (struct seek_stream){ .fd = fd, .file_len = len }, \
	    zstd_seek.part(&m, &from, &to, &s))
	/* nothing but the header, which is six bytes long */
	to.at = ZSTD_JOB_HEAD;
	assert_int_equal(PART(), 0);
	assert_int_equal(s.mem.len, ZSTD_JOB_HEAD + 3);
	seek_stream_free(&s);
	to.at = ZSTD_JOB_HEAD - 1;
	assert_int_equal(PART(), -EBADMSG);
	seek_stream_free(&s);
	/* a job that begins where the map says */
	from.at = ZSTD_JOB_HEAD + 1;
	to.at = from.at;
	assert_int_equal(PART(), 0);
	seek_stream_free(&s);
	to.at = from.at - 1;
	assert_int_equal(PART(), -EBADMSG);
	seek_stream_free(&s);
	/* no frame begins there */
	from = (struct seek_unit){ .at = 1, .frame = 1 };
	to = (struct seek_unit){ .at = 100, .frame = 1 };
	assert_int_equal(PART(), -EBADMSG);
	seek_stream_free(&s);
	from = to = (struct seek_unit){ .at = len, .frame = len };
	assert_int_equal(PART(), -EBADMSG);
	seek_stream_free(&s);
	look_close(m.look);
	/* the file cannot be read */
	m.look = look_open(-1, len);
	assert_non_null(m.look);
	from = (struct seek_unit){ .at = 0 };
	to = (struct seek_unit){ .at = 100 };
	assert_int_equal(PART(), -EBADF);
	seek_stream_free(&s);
#undef PART
	look_close(m.look);
	close(fd);
}

static int
try_map(int fd)
{
	struct seek_map m;
	int rc = open_map(&m, fd);

	if (rc == 0)
		seek_map_close(&m);
	return rc;
}

/* Returns whether there is no map. */
static int
has_none(int fd)
{
	struct seek_map m;
	int rc = open_map(&m, fd), none = rc == 0 && m.count == 0;

	if (rc == 0)
		seek_map_close(&m);
	return none;
}

/*
 * Each read, or each allocation, fails in turn, and that is reported; or the
 * file shrinks to `to` bytes before one of the reads, and has no map.
 */
static void
suffers(off_t to)
{
	unread_each(try_map, file, len, FAULT_PREAD, "EIO", -EIO);
	unread_each(try_map, file, len, FAULT_MALLOC, "ENOMEM", -ENOMEM);
	unread_shrinks(has_none, file, len, to, true);
}

static void
faults(void **state)
{
	enum { FRAMES = 1200 };
	static uint32_t sizes[2 * FRAMES];

	(void)state;
	/* a table of several reads */
	len = 0;
	for (int i = 0; i < FRAMES; i++) {
		sizes[2 * i] = put_frame(1, true);
		sizes[2 * i + 1] = BLOCK;
	}
	put_table(sizes, FRAMES, false);
	maps(listed, true);
	suffers(0);
	make_jobs(100001);
	suffers(0);
	/* the first mark after a job ends with what has been read */
	len = 0;
	put_head();
	for (int i = 0; i < 1019; i++)
		put_block(RLE, 1, false);
	put_block(RAW, 2, false);
	put_marks(1);
	assert_int_equal(len, LOOK_STEP);
	put_marks(zstd_job_marks(JOB) + ZSTD_JOB_LEAD - 1);
	put_block(RAW, 10, true);
	suffers(0);
	suffers(LOOK_STEP + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_tables),
		cmocka_unit_test(wrong_tables),
		cmocka_unit_test(table_of_garbage),
		cmocka_unit_test(table_of_lies),
		cmocka_unit_test(jobs),
		cmocka_unit_test(wrong_jobs),
		cmocka_unit_test(parts),
		cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
