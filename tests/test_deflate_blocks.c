/*
 * test_deflate_blocks.c - encoding matches as deflate blocks
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_made.h"

#include "engine/deflate/deflate_fast.h"
#include "engine/deflate/deflate_walk.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static struct made made;
static struct deflate_blocks blocks;

static void
make(unsigned shape, size_t len, uint32_t seed)
{
	struct made_source s = { NULL, 0, seed };

	made_make(&made, &s, shape, len);
}

/*
 * Passes the sequences in `calls` calls to add, after a sync point if
 * requested.
 */
static ssize_t
encode(uint8_t *out, size_t room, unsigned calls, bool sync)
{
	const uint8_t *in = made.data;
	size_t from = 0;
	ssize_t before = 0, n;

	deflate_blocks_begin(&blocks, out, room);
	for (unsigned i = 0; i < calls; i++) {
		size_t to = made.nseqs * (i + 1) / calls;
		int rc = deflate_blocks_add(&blocks, in, made.seqs + from,
		    to - from);

		if (rc != 0)
			return rc;
		for (; from < to; from++)
			in += made.seqs[from].literals +
			    made.seqs[from].length;
	}
	if (sync) {
		before = deflate_blocks_end(&blocks, false);
		if (before < 0)
			return before;
		assert_memory_equal(out + before - 4, "\0\0\xff\xff", 4);
		deflate_blocks_begin(&blocks, out + before,
		    room - (size_t)before);
	}
	n = deflate_blocks_end(&blocks, true);
	return n < 0 ? n : before + n;
}

static ssize_t
check(unsigned calls, bool sync)
{
	size_t room = deflate_blocks_bound(made.len) + calls * 5 + 32;
	uint8_t *out = malloc(room);
	ssize_t n;

	assert_non_null(out);
	n = encode(out, room, calls, sync);
	if (n < 0)
		print_error("%zd\n", n);
	assert_true(n > 0);
	assert_true(made_inflates(&made, out, (size_t)n));
	free(out);
	return n;
}

static void
round_trips(void **state)
{
	static const size_t lens[] = {
		0, 1, 2, 3, 4, 5, 100, 2000, 65535, 65536, 300000, 1 << 20
	};
	static const unsigned shapes[] = {
		0, MADE_LITERALS, MADE_MATCHES, MADE_FAR, MADE_ONE,
		MADE_SKEWED, MADE_LONG, MADE_TURNS,
		MADE_LITERALS | MADE_ONE, MADE_LITERALS | MADE_SKEWED,
		MADE_MATCHES | MADE_LONG, MADE_MATCHES | MADE_FAR,
		MADE_MATCHES | MADE_ONE | MADE_LONG, MADE_FAR | MADE_LONG,
		MADE_FAR | MADE_SKEWED, MADE_MATCHES | MADE_SKEWED
	};

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			make(shapes[s], lens[i], 1 + (uint32_t)(s * 99 + i));
			for (unsigned how = 0; how < 12; how++) {
				blocks.search = how % 3;
				check(how / 3 & 1 ? 1 : 3, how / 6);
			}
		}
	}
}

/* Uses more tokens than a window's pieces can hold. */
static void
many_tokens(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		blocks.search = how;
		make(MADE_LITERALS | MADE_SKEWED, MADE_BYTES, 5);
		check(1, false);
		make(MADE_TURNS, MADE_BYTES, 6);
		check(1, false);
	}
}

static void
exact_bytes(void **state)
{
	uint8_t out[64];

	(void)state;
	make(0, 0, 1);
	assert_int_equal(encode(out, sizeof(out), 1, false), 2);
	assert_memory_equal(out, "\3", 2);
	assert_int_equal(encode(out, sizeof(out), 1, true), 5 + 2);
	assert_memory_equal(out, "\0\0\0\xff\xff\3", 7);
	/* one literal gives a fixed block, as with any other compressor */
	made.len = made.nseqs = 1;
	made.seqs[0] = (struct deflate_seq){ 1, 0, 0 };
	made.data[0] = 'a';
	assert_int_equal(encode(out, sizeof(out), 1, false), 3);
	assert_memory_equal(out, "\x4b\x04", 3);
	/* a sequence that represents nothing */
	made.len = 0;
	made.seqs[0] = (struct deflate_seq){ 0, 0, 0 };
	assert_int_equal(encode(out, sizeof(out), 1, false), 2);
}

/* Neither noise nor a stretch of noise takes more space than stored blocks. */
static void
never_grows(void **state)
{
	static const size_t lens[] = { 64, 65535, 65536, 1 << 20, MADE_BYTES };
	const size_t most = 65535;

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		size_t n = lens[i];

		for (unsigned how = 0; how < 3; how++) {
			blocks.search = how;
			make(MADE_LITERALS, n, 77);
			assert_int_equal(check(1, false),
			    n + (n + most - 1) / most * 5);
			for (size_t k = 0; k < n; k++)
				if (k / 1024 % 2 == 1)
					made.data[k] &= 0xfd;
			assert_true((size_t)check(1, false) <=
			    n + (n + most - 1) / most * 5);
		}
	}
}

/*
 * Codes change where the data changes: two halves compress as well together as
 * apart.
 */
static void
splits(void **state)
{
	enum { HALF = 100000 };
	ssize_t apart;

	(void)state;
	for (unsigned how = 0; how < 3; how++) {
		blocks.search = how;
		make(MADE_LITERALS, HALF, 3);
		for (size_t i = 0; i < HALF; i++)
			made.data[i] &= 15;
		apart = check(1, false);
		assert_true(apart < HALF / 2 + 1000);
		make(MADE_LITERALS, 2 * HALF, 3);
		for (size_t i = 0; i < 2 * HALF; i++)
			made.data[i] = (uint8_t)((made.data[i] & 15) +
			    (i < HALF ? 0 : 100));
		assert_true(check(1, false) < 2 * apart + 3000);
	}
}

/* If there is too little room, nothing is written past its end. */
static void
too_little_room(void **state)
{
	static const unsigned shapes[] = {
		0, MADE_LITERALS, MADE_SKEWED, MADE_TURNS, MADE_ONE
	};

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		ssize_t need;
		uint8_t *out = malloc(1 << 20);

		assert_non_null(out);
		make(shapes[s], s == 3 ? 60000 : 3000, 9);
		need = encode(out, 1 << 20, 1, false);
		free(out);
		assert_true(need > 0);
		for (size_t room = 0; room <= (size_t)need + 16;
		    room += room + 600 < (size_t)need ? 97 : 1) {
			ssize_t n;

			/*
			 * allocated exactly, so that a sanitizer detects
			 * overruns
			 */
			out = malloc(room + 1);
			assert_non_null(out);
			out[room] = 0x5a;
			n = encode(out, room, 1, false);
			assert_int_equal(n, room < (size_t)need +
			    DEFLATE_BLOCKS_SLACK ? -ENOBUFS : need);
			assert_int_equal(out[room], 0x5a);
			free(out);
		}
	}
}

/*
 * Tests literals and lengths, some of them very rare and others very frequent.
 */
static void
long_codes(void **state)
{
	size_t len = 0, n = 1, before = 1;

	(void)state;
	/* byte i occurs Fibonacci(i) times */
	for (unsigned i = 0; i < 28; i++) {
		memset(made.data + len, (int)i, n);
		len += n;
		n += before;
		before = n - before;
	}
	assert_true(len < MADE_BYTES);
	made.len = len;
	made.nseqs = 1;
	made.seqs[0] = (struct deflate_seq){ (uint32_t)len, 0, 0 };
	for (unsigned how = 0; how < 3; how++) {
		blocks.search = how;
		check(1, false);
	}
	/* often enough that all distances are in one block's code */
	made.len = made.nseqs = 0;
	for (; made.len < MADE_WINDOW; made.len++)
		made.data[made.len] = (uint8_t)(made.len * 7);
	made.seqs[made.nseqs++] = (struct deflate_seq){ MADE_WINDOW, 0, 0 };
	for (unsigned i = 0; i < 30; i++) {
		unsigned far = 1;

		for (unsigned k = 0; k < i; k++)
			far += 1U << codes_distance_extra(k);
		for (unsigned k = 0; k < 1U << (i < 14 ? i : 14); k++) {
			made.seqs[made.nseqs++] = (struct deflate_seq){ 0, 3,
			    (uint16_t)far };
			for (unsigned j = 0; j < 3; j++, made.len++)
				made.data[made.len] =
				    made.data[made.len - far];
		}
	}
	check(1, false);
}

/*
 * The match finder's output describes the data correctly, however much room
 * there is.
 */
static void
finds(void **state)
{
	static const size_t lens[] = {
		0, 1, 7, 15, 16, 17, 18, 40, 300, 5000, 40000, 300000
	};
	static const unsigned shapes[] = {
		0, MADE_LITERALS, MADE_ONE, MADE_SKEWED, MADE_TURNS, MADE_FAR
	};
	static struct deflate_fast f;
	static const size_t rooms[] = { 2, 100, MADE_SEQS };

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
		for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
			make(shapes[s], lens[i], 1 + (uint32_t)i);
			for (unsigned how = 0; how < 6; how++) {
				uint8_t *exact = malloc(made.len + 1);
				size_t n;

				assert_non_null(exact);
				/*
				 * so that a sanitizer detects an overrun by a
				 * byte
				 */
				memcpy(exact + 1, made.data, made.len);
				f.more = how & 1;
				deflate_fast_begin(&f, exact + 1, made.len);
				made.nseqs = 0;
				while ((n = deflate_fast_find(&f,
				    made.seqs + made.nseqs, rooms[how / 2] <
				    MADE_SEQS - made.nseqs ? rooms[how / 2] :
				    MADE_SEQS - made.nseqs)) > 0)
					made.nseqs += n;
				assert_int_equal(f.pos, made.len);
				free(exact);
				check(1, false);
			}
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(many_tokens),
		cmocka_unit_test(exact_bytes),
		cmocka_unit_test(never_grows),
		cmocka_unit_test(splits),
		cmocka_unit_test(too_little_room),
		cmocka_unit_test(long_codes),
		cmocka_unit_test(finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
