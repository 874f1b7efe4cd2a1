/*
 * test_lzw.c - .Z files of every width, damaged ones, and those of other tools
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/lzw.h"

#include "lzw_made.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PLAIN = 200000, ROOM = 32 << 20 };

static uint8_t plain[PLAIN], packed[3 * PLAIN], got[ROOM], want[ROOM];
static char scratch[SCRATCH_B], path[SCRATCH_B + 8];

/* Returns the same numbers everywhere, unlike rand(3). */
static uint32_t
next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005 + 1442695040888963407;
	return (uint32_t)(*seed >> 33);
}

/* Makes words from a small vocabulary, then noise, then one long run. */
static int
setup(void **state)
{
	uint64_t seed = 1;
	size_t i = 0;

	(void)state;
	while (i < PLAIN / 2) {
		uint32_t word = next(&seed) % 500;

		for (uint32_t n = 1 + word % 9; n > 0 && i < PLAIN / 2; n--)
			plain[i++] = (uint8_t)('a' + (word *= 7) % 26);
		plain[i++] = ' ';
	}
	while (i < PLAIN * 3 / 4)
		plain[i++] = (uint8_t)next(&seed);
	if (scratch_make(scratch) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/text.Z", scratch);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(scratch);
}

static size_t
pack(size_t len, unsigned most, bool block, size_t clear_every)
{
	struct lzw_mode m = { most, block, clear_every };

	return lzw_make(&m, plain, len, packed);
}

/* Decodes in pieces; returns the length of the output, or -errno. */
static ssize_t
decode(const uint8_t *in, size_t len, size_t in_piece, size_t out_piece)
{
	struct stream_io io = { .out = got };
	size_t at = 0;
	void *z;
	int rc;

	assert_int_equal(lzw_stream.open(&z, 0), 0);
	do {
		size_t room = (size_t)(got + ROOM - io.out);
		size_t in_len = in_piece < len - at ? in_piece : len - at;
		/*
		 * an exactly allocated copy, so that reading beyond its end is
		 * detected
		 */
		uint8_t *copy = malloc(in_len == 0 ? 1 : in_len);

		io.out_len = out_piece < room ? out_piece : room;
		room = io.out_len;
		io.in_len = in_len;
		memcpy(copy, in + at, in_len);
		io.in = copy;
		io.eof = at + in_len == len;
		rc = lzw_stream.run(z, &io);
		assert_true(rc != STREAM_MORE || io.in_len == 0 ||
		    io.out_len == 0);
		assert_true(rc != STREAM_MORE || !io.eof ||
		    io.out_len < room);
		at += in_len - io.in_len;
		free(copy);
	} while (rc == STREAM_MORE);
	if (rc == STREAM_END)
		assert_int_equal(at, len);
	lzw_stream.close(z);
	return rc < 0 ? rc : io.out - got;
}

/*
 * Runs a command with packed as its input.  Returns the output's length, or -1.
 */
static ssize_t
judge(const char *command, const uint8_t *in, size_t len)
{
	char line[512];
	FILE *f = fopen(path, "w");
	ssize_t n;

	assert_non_null(f);
	assert_int_equal(fwrite(in, 1, len, f), len);
	fclose(f);
	snprintf(line, sizeof(line), "exec 2>/dev/null; %s <'%s'", command,
	    path);
	f = popen(line, "r");
	assert_non_null(f);
	n = (ssize_t)fread(want, 1, ROOM, f);
	return pclose(f) == 0 ? n : -1;
}

static bool
have(const char *tool)
{
	char line[128];

	snprintf(line, sizeof(line), "command -v %s >/dev/null 2>&1", tool);
	return system(line) == 0;
}

static const size_t pieces[][2] = {
	{ SIZE_MAX, SIZE_MAX }, { 1, 1 }, { 1, SIZE_MAX }, { 64, 1 },
	{ 7, 4093 }, { 1000, 3 },
};

static void
check(size_t len, size_t packed_len)
{
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		memset(got, 0xa5, len);
		assert_int_equal(decode(packed, packed_len, pieces[i][0],
		    pieces[i][1]), len);
		assert_memory_equal(got, plain, len);
	}
}

static void
every_width_and_mode(void **state)
{
	static const size_t clears[] = { 0, 90, 700, 30000 };
	bool gzip = have("gzip");

	(void)state;
	for (unsigned i = 0; i < 8 * 5; i++) {
		unsigned most = 9 + i / 5;
		bool block = i % 5 < 4;
		size_t n = pack(PLAIN, most, block, block ? clears[i % 5] : 0);

		check(PLAIN, n);
		if (!gzip)
			continue;
		/*
		 * check the writer itself: gzip must be able to read its
		 * output too
		 */
		assert_int_equal(judge("gzip -dc", packed, n), PLAIN);
		assert_memory_equal(want, plain, PLAIN);
	}
}

static void
every_short_length(void **state)
{
	(void)state;
	for (size_t len = 0; len < 1200; len += 1 + len / 100) {
		for (int block = 0; block < 2; block++)
			check(len, pack(len, 16, block, block ? 100 : 0));
	}
}

static void
reads_what_compress_writes(void **state)
{
	(void)state;
	if (!have("compress"))
		skip();
	for (int b = 10; b <= 16; b++) {
		char line[64];
		ssize_t n;

		snprintf(line, sizeof(line), "compress -cf -b %d", b);
		n = judge(line, plain, PLAIN);
		assert_true(n > 3);
		assert_int_equal(want[2] & 0x1f, b);
		memcpy(packed, want, (size_t)n);
		check(PLAIN, (size_t)n);
	}
}

static void
agrees_about_the_vectors(void **state)
{
	const char *dir = getenv("COLDPRESS_VECTORS"), *src = getenv("SRC");
	char name[600], line[1400];
	struct dirent *e;
	int files = 0;
	DIR *d;

	(void)state;
	snprintf(name, sizeof(name), "%s/Z", dir != NULL ? dir : "");
	if (dir == NULL)
		snprintf(name, sizeof(name), "%s/../shared/vectors/Z",
		    src != NULL ? src : ".");
	d = have("gzip") ? opendir(name) : NULL;
	if (d == NULL)
		skip();
	while ((e = readdir(d)) != NULL) {
		FILE *f;
		size_t len;
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(line, sizeof(line), "%s/%s", name, e->d_name);
		f = fopen(line, "r");
		assert_non_null(f);
		uint8_t *in = malloc(ROOM);
		len = fread(in, 1, ROOM, f);
		fclose(f);
		n = judge("gzip -dc", in, len);
		for (size_t i = 0; i < (n < 100000 ? 6 : 1); i++) {
			ssize_t m = decode(in, len, pieces[i][0],
			    pieces[i][1]);

			assert_int_equal(m < 0 ? -1 : m, n);
			assert_true(n < 0 || memcmp(got, want,
			    (size_t)n) == 0);
		}
		free(in);
		files++;
	}
	closedir(d);
	assert_true(files > 0);
}

/* Tests wrong bytes anywhere after the header, and truncation anywhere. */
static void
agrees_about_damage(void **state)
{
	uint64_t seed = 2;
	int refused = 0;

	(void)state;
	if (!have("gzip"))
		skip();
	for (int i = 0; i < 200; i++) {
		size_t len = 300 + next(&seed) % 3000;
		size_t n = pack(len, 10 + (unsigned)i % 7, i % 3 != 0,
		    i % 3 == 1 ? 90 : 0);
		ssize_t theirs, ours;

		if (i % 4 == 0)
			n = 3 + next(&seed) % (n - 3);
		else
			packed[3 + next(&seed) % (n - 3)] ^=
			    (uint8_t)(1 << next(&seed) % 8);
		theirs = judge("gzip -dc", packed, n);
		ours = decode(packed, n, pieces[i % 6][0], pieces[i % 6][1]);
		assert_int_equal(ours < 0 ? -1 : ours, theirs);
		assert_true(theirs < 0 || memcmp(got, want,
		    (size_t)theirs) == 0);
		refused += theirs < 0;
	}
	assert_in_range(refused, 20, 180);
}

static void
refuses(void **state)
{
	static const struct {
		uint8_t in[8];
		size_t len;
		int rc;
	} cases[] = {
		{ { 0 }, 0, -ENODATA },
		{ { 0x1f, 0x9d }, 2, -ENODATA },
		{ { 0x1f, 0x8b, 0x90 }, 3, -EBADMSG },
		{ { 0x1f, 0x9d, 0x88 }, 3, -EBADMSG },
		{ { 0x1f, 0x9d, 0x91 }, 3, -ENOTSUP },
		{ { 0x1f, 0x9d, 0xb0 }, 3, -ENOTSUP },
		{ { 0x1f, 0x9d, 0xd0 }, 3, -ENOTSUP },
		/* first: CLEAR, then a code that does not exist */
		{ { 0x1f, 0x9d, 0x90, 0x00, 0x01 }, 5, -EBADMSG },
		{ { 0x1f, 0x9d, 0x10, 0x00, 0x01 }, 5, -EBADMSG },
		/* 'a', then 258 where 257 comes next */
		{ { 0x1f, 0x9d, 0x90, 0x61, 0x04, 0x02 }, 6, -EBADMSG },
		/* 'a', then 257: "a" and "aa" */
		{ { 0x1f, 0x9d, 0x90, 0x61, 0x02, 0x02 }, 6, 3 },
		/* complete, plus less than one code */
		{ { 0x1f, 0x9d, 0x90 }, 3, 0 },
		{ { 0x1f, 0x9d, 0x90, 0x61 }, 4, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(decode(cases[i].in, cases[i].len, SIZE_MAX,
		    SIZE_MAX), cases[i].rc);
		assert_int_equal(decode(cases[i].in, cases[i].len, 1, 1),
		    cases[i].rc);
	}
}

/* Writes n codes of a width, lowest bit first, after *bit bits. */
static void
put_codes(uint32_t code, unsigned width, size_t n, size_t *bit)
{
	for (size_t i = 0; i < n * width; i++, ++*bit)
		packed[3 + *bit / 8] |= (uint8_t)((code >> i % width & 1) <<
		    *bit % 8);
}

/*
 * With codes of 9 bits at most, those after the last that can be defined have
 * ten.  The first number that no string has is not taken for the next one:
 * gzip does so, and would spell what was never defined if it came twice.
 */
static void
beyond_nine_bits(void **state)
{
	(void)state;
	for (unsigned block = 0; block < 2; block++)
		for (uint32_t last = 508; last < 520; last++) {
			size_t bit = 0, n = block ? 256 : 257, len;
			ssize_t made;

			memset(packed, 0, 400);
			memcpy(packed, "\x1f\x9d", 2);
			packed[2] = (uint8_t)(9 | block << 7);
			put_codes('a', 9, n, &bit);
			bit += (72 - bit % 72) % 72;
			put_codes(last, 10, 1, &bit);
			len = 3 + (bit + 7) / 8;
			made = decode(packed, len, SIZE_MAX, SIZE_MAX);
			assert_int_equal(made, last < 512 ? (ssize_t)n + 2 :
			    -EBADMSG);
			if (have("gzip") && last != 512)
				assert_int_equal(judge("gzip -dc", packed,
				    len), last < 512 ? made : -1);
		}
}

static void
a_context_serves_again(void **state)
{
	size_t n = pack(5000, 12, true, 1000);
	void *z;

	(void)state;
	assert_int_equal(lzw_stream.open(&z, 0), 0);
	for (int i = 0; i < 2; i++) {
		struct stream_io io = { packed, n, got, ROOM, true };

		assert_int_equal(lzw_stream.run(z, &io), STREAM_END);
		assert_int_equal(io.out - got, 5000);
		assert_memory_equal(got, plain, 5000);
	}
	lzw_stream.close(z);
	lzw_stream.close(NULL);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_width_and_mode),
		cmocka_unit_test(every_short_length),
		cmocka_unit_test(reads_what_compress_writes),
		cmocka_unit_test(agrees_about_the_vectors),
		cmocka_unit_test(agrees_about_damage),
		cmocka_unit_test(refuses),
		cmocka_unit_test(beyond_nine_bits),
		cmocka_unit_test(a_context_serves_again),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
