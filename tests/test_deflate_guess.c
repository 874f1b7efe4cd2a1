/*
 * test_deflate_guess.c - streams of other programs, decoded from the middle
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Made streams are decoded in small pieces by several threads; the result must
 * be the data that zlib compressed.
 */
#include "engine/deflate/deflate_find.h"
#include "base/bytes.h"
#include "base/sys.h"
#include "format/convert.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

enum { MOST = 600 << 10, ROOM = MOST + (64 << 10), STREAMS = 700 };

struct made {
	uint8_t plain[MOST], packed[ROOM], out[MOST + 1];
	size_t len, packed_len;
};

static uint32_t
draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*seed * below >> 32);
}

/* Fills p with runs of text, copies, zeros, noise, and gzip streams. */
static void
make_plain(uint8_t *p, size_t len, uint32_t *seed)
{
	static const char text[] = "static int cold page of files return 0;\n";
	size_t at = 0;

	while (at < len) {
		size_t n = 1 + draw(seed, 1u << (4 + draw(seed, 13)));
		uLongf packed;

		if (n > len - at)
			n = len - at;
		switch (draw(seed, 6)) {
		case 0:
			memset(p + at, 0, n);
			break;
		case 1:
			for (size_t i = 0; i < n; i++)
				p[at + i] = (uint8_t)draw(seed, 256);
			break;
		case 2:
			/* what was there before, maybe far back */
			for (size_t i = 0, back = at == 0 ? 0 :
			    1 + draw(seed, at < 32768 ? (uint32_t)at : 32768);
			    i < n; i++)
				p[at + i] = at == 0 ? 0 : p[at + i - back];
			break;
		case 3:
			packed = len - at;
			if (at < 2000 || compress2(p + at, &packed, p + at / 2,
			    at / 4, 6) != Z_OK)
				continue;
			n = packed;
			break;
		default:
			for (size_t i = 0; i < n; i++)
				p[at + i] = (uint8_t)text[draw(seed,
				    sizeof(text) - 1) * (i % 3 != 0)];
		}
		at += n;
	}
}

/* Compresses it as one member after another, with random settings. */
static void
make_packed(struct made *m, uint32_t *seed)
{
	size_t at = 0;

	m->packed_len = 0;
	do {
		static const int flush[] = { Z_NO_FLUSH, Z_NO_FLUSH,
		    Z_BLOCK, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH };
		size_t end = draw(seed, 4) == 0 ? at + draw(seed,
		    (uint32_t)(m->len - at + 1)) : m->len;
		int how = flush[draw(seed, 6)];
		z_stream z = { .next_in = m->plain + at,
		    .next_out = m->packed + m->packed_len,
		    .avail_out = (uInt)(ROOM - m->packed_len) };

		assert_int_equal(deflateInit2(&z, (int)draw(seed, 10),
		    Z_DEFLATED, 31, 1 + (int)draw(seed, 9),
		    draw(seed, 3) == 0 ? (int)draw(seed, 5) : 0), Z_OK);
		while (at < end) {
			size_t n = 1 + draw(seed, 40000);

			if (n > end - at)
				n = end - at;
			z.avail_in = (uInt)n;
			assert_int_equal(deflate(&z, how), Z_OK);
			assert_int_equal(z.avail_in, 0);
			at += n;
		}
		assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
		m->packed_len += z.total_out;
		deflateEnd(&z);
	} while (at < m->len);
}

static int
decode(struct made *m, unsigned threads, size_t piece, size_t *len)
{
	struct convert c = { .codec = codec_by_name("gzip"),
	    .decompress = true, .options = { .threads = threads,
	    .window_max = 1 << 27 } };
	struct convert_result r;
	struct input input;
	int from = memfd_create("in", 0), to = memfd_create("out", 0), rc;

	assert_int_equal(codec_set(&c.options, "piece", piece, NULL), 0);
	assert_int_equal(write(from, m->packed, m->packed_len),
	    m->packed_len);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	assert_int_equal(input_open(&input, from), 0);
	rc = convert_run(&c, &input, to, &r);
	input_close(&input);
	*len = (size_t)pread(to, m->out, sizeof(m->out), 0);
	close(from);
	close(to);
	return rc;
}

/* The block found is the next one with dynamic codes, from wherever it is sought. */
static void
finds_the_next_block(void **state)
{
	struct made *m = *state;
	struct deflate_finder *finder;
	struct inflater *f;
	uint64_t starts[400];
	size_t n = 0, next = 0;
	uint32_t seed = 3;
	z_stream z = { .next_in = m->plain, .avail_in = MOST,
	    .next_out = m->packed, .avail_out = ROOM };
	struct inflate_block b = { .begin = m->out, .out = m->out,
	    .end = m->out + MOST, .unit = 1 };
	int rc;

	for (size_t i = 0; i < MOST; i++)
		m->plain[i] = (uint8_t)("cold page of files "[draw(&seed, 19)] +
		    draw(&seed, 3));
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 4, 0), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	m->packed_len = z.total_out;
	deflateEnd(&z);
	memset(m->packed + m->packed_len, 0, DEFLATE_FIND_SPARE);
	assert_int_equal(inflater_open(&f), 0);
	assert_int_equal(deflate_finder_open(&finder), 0);
	do {
		if ((load_le16(m->packed + b.bit / 8) >> b.bit % 8 & 7) == 4)
			starts[n++] = b.bit;
		rc = inflater_block(f, m->packed, m->packed_len, &b);
	} while (rc == INFLATER_BLOCK);
	assert_int_equal(rc, STREAM_END);
	assert_memory_equal(m->out, m->plain, MOST);
	assert_true(n > 100);
	for (uint64_t from = 0; from <= starts[n - 1];
	    from += draw(&seed, 9000)) {
		struct deflate_found found;

		while (starts[next] < from)
			next++;
		assert_true(deflate_find(finder, f, m->packed, m->packed_len,
		    from, 8 * m->packed_len, false, &found));
		assert_int_equal(found.bit, starts[next]);
		assert_false(found.stored);
		assert_int_equal(deflate_find(finder, f, m->packed,
		    m->packed_len, from, starts[next], false, &found), false);
		assert_false(deflate_find(finder, f, m->packed, m->packed_len,
		    from, starts[next] + 1, true, &found));
	}
	deflate_finder_close(finder);
	inflater_close(f);
}

static void
made_streams_come_out(void **state)
{
	struct made *m = *state;
	const char *more = getenv("DEFLATE_GUESS_STREAMS");
	unsigned streams = more != NULL ? (unsigned)atoi(more) : STREAMS;
	uint32_t seed = more != NULL ? 77 : 1;

	for (unsigned i = 0; i < streams; i++) {
		size_t len, piece = 1024 + draw(&seed, 30000);

		m->len = 1 + draw(&seed, 1u << (10 + draw(&seed, 10)));
		if (m->len > MOST)
			m->len = MOST;
		make_plain(m->plain, m->len, &seed);
		make_packed(m, &seed);
		assert_int_equal(decode(m, 2 + draw(&seed, 3), piece, &len),
		    0);
		assert_int_equal(len, m->len);
		assert_memory_equal(m->out, m->plain, len);
	}
}

/* A damaged stream gives what it gives when it is decoded by one thread. */
static void
damage_is_found_alike(void **state)
{
	struct made *m = *state;
	uint8_t *alone = malloc(MOST + 1);
	uint32_t seed = 5;

	assert_non_null(alone);
	for (unsigned i = 0; i < STREAMS; i++) {
		size_t len, alone_len, at;
		int rc;

		m->len = 1 + draw(&seed, 200000);
		make_plain(m->plain, m->len, &seed);
		make_packed(m, &seed);
		at = draw(&seed, (uint32_t)m->packed_len);
		if (i % 3 == 0)
			m->packed_len = at;
		else
			m->packed[at] ^= (uint8_t)(1 << draw(&seed, 8));
		rc = decode(m, 1, 1024 + draw(&seed, 9000), &alone_len);
		memcpy(alone, m->out, MOST + 1);
		assert_int_equal(decode(m, 3, 1024 + draw(&seed, 9000), &len),
		    rc);
		if (rc == -ENODATA) {
			assert_int_equal(len, alone_len);
			assert_memory_equal(m->out, alone, len);
		}
	}
	free(alone);
}

static int
open_made(void **state)
{
	*state = malloc(sizeof(struct made));
	return *state == NULL;
}

static int
close_made(void **state)
{
	free(*state);
	return 0;
}

/* What is after the input's end is not looked at, even if a block begins there. */
static void
beyond_the_end(void **state)
{
	struct made *m = calloc(1, sizeof(*m));
	struct inflater *f;
	uint32_t seed = 5;
	z_stream z = { .next_in = NULL };

	(void)state;
	assert_non_null(m);
	make_plain(m->plain, 5000, &seed);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, 0), Z_OK);
	z.next_in = m->plain;
	z.avail_in = 5000;
	z.next_out = m->packed + 100;
	z.avail_out = ROOM - 100;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	/* dynamic codes */
	assert_int_equal(m->packed[100] & 6, 4);
	assert_int_equal(inflater_open(&f), 0);
	assert_true(inflater_begins(f, m->packed, 100 + z.total_out, 800));
	for (size_t len = 90; len <= 100; len++)
		assert_false(inflater_begins(f, m->packed, len, 800));
	inflater_close(f);
	free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beyond_the_end),
		cmocka_unit_test(finds_the_next_block),
		cmocka_unit_test(made_streams_come_out),
		cmocka_unit_test(damage_is_found_alike),
	};

	return cmocka_run_group_tests(tests, open_made, close_made);
}
