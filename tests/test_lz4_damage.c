/*
 * test_lz4_damage.c - LZ4 streams truncated, corrupted, or followed by garbage
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lz4_made.h"

#include <errno.h>
#include <lz4frame.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void
garbage_behind(void **state)
{
	struct bytes in = sample(1000, 1), z = pack(in, 1, 0, 1, false);
	struct bytes old = legacy(in, 1000), b;
	int want;

	(void)state;
	for (size_t n = 1; n < 12; n++) {
		want = n < 4 ? -ENODATA : -EBADMSG;
		b = bytes_of(z.p, z.n);
		append(&b, "xxxxxxxxxxxx", n);
		assert_refused(b, want);
		memset(b.p + z.n, 0, n);
		assert_refused(b, want);
		free(b.p);
		b = bytes_of(old.p, old.n);
		append(&b, "xxxxxxxxxxxx", n);
		assert_refused(b, want);
		free(b.p);
	}
	b = bytes_of("garbage of some length", 22);
	assert_refused(b, -EBADMSG);
	free(b.p);
	free(in.p);
	free(z.p);
	free(old.p);
}

/* Makes a frame of each kind that contains `in`. */
static struct bytes
frame_kind(struct bytes in, int kind)
{
	LZ4F_preferences_t prefs = { .frameInfo = {
	    .blockSizeID = LZ4F_max64KB,
	    .blockMode = kind == 1 ? LZ4F_blockLinked :
	    LZ4F_blockIndependent, .contentSize = in.n,
	    .contentChecksumFlag = LZ4F_contentChecksumEnabled,
	    .blockChecksumFlag = kind == 1 ? LZ4F_noBlockChecksum :
	    LZ4F_blockChecksumEnabled } };

	return kind == 0 ? pack(in, 1, 0, 1, false) :
	    kind == 3 ? legacy(in, 300) : library_pack(in, &prefs, 300);
}

static void
cut_short(void **state)
{
	struct bytes in = sample(1500, 6), skip = skippable(3, 20);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct bytes z = frame_kind(in, kind), out;
		size_t n = z.n, i;

		for (z.n = 1; z.n < n; z.n++) {
			int rc = unpack(z, 1 + z.n % 2, z.n % 3 == 0, &out);

			/* a legacy frame may end after any block */
			if (kind < 3 || rc != 0)
				assert_int_equal(rc, -ENODATA);
			assert_true(out.n <= in.n);
			assert_memory_equal(out.p, in.p, out.n);
			free(out.p);
		}
		z.n = n;
		append(&z, skip.p, skip.n);
		for (i = 1; i < skip.n; i++) {
			z.n = n + i;
			assert_refused(z, -ENODATA);
		}
		z.n = n + skip.n;
		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
	free(skip.p);
}

static void
flipped_bits(void **state)
{
	struct bytes in = sample(1500, 6);

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		struct bytes z = frame_kind(in, kind), out;
		int rc;

		for (size_t i = 0; i < z.n * 8; i++) {
			z.p[i / 8] ^= (uint8_t)(1 << i % 8);
			rc = unpack(z, 1 + i % 2, false, &out);
			/* without block checks: an equal match elsewhere */
			if (rc == 0 && kind != 2)
				assert_same(out, in);
			else
				assert_true(rc < 0);
			free(out.p);
			z.p[i / 8] ^= (uint8_t)(1 << i % 8);
		}
		free(z.p);
	}
	free(in.p);
}

/* Truncates streams or flips a bit, with several pieces in flight. */
static void
large_and_wrong(void **state)
{
	struct bytes in = sample(17 * MIB, 11);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = LZ4F_max256KB,
		    .blockMode = kind == 1 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = LZ4F_contentChecksumEnabled } };
		struct bytes z = kind == 0 ? pack(in, 1, 0, 2, false) :
		    kind == 3 ? legacy(in, 8 * MIB) :
		    library_pack(in, &prefs, 0);
		struct bytes out;
		size_t n = z.n;

		for (unsigned i = 1; i < 20; i += 4) {
			z.n = n / 20 * i;
			assert_int_equal(unpack(z, 1 + i % 3, i % 2, &out),
			    -ENODATA);
			assert_true(out.n < in.n);
			assert_memory_equal(out.p, in.p, out.n);
			/* nearly everything has been decoded */
			assert_true(out.n + 9 * MIB > in.n / 20 * i);
			free(out.p);
			z.n = n;
			z.p[n / 20 * i] ^= 4;
			assert_true(kind == 3 ||
			    unpack(z, 1 + i % 3, i % 2, &out) < 0);
			if (kind != 3)
				free(out.p);
			z.p[n / 20 * i] ^= 4;
		}
		free(z.p);
	}
	free(in.p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(garbage_behind),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(large_and_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
