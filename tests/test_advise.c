/* SPDX-License-Identifier: BSD-2-Clause */
#include "../src/advise/advise_frame.h"

#include "base/stats.h"
#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void
kinds(void **state)
{
	static const struct {
		const char *path, *text;
		size_t len;
		enum advise_kind kind;
	} known[] = {
		{ "a.jpg", "\x1f\x8b\x08\0", 4, ADVISE_GZIP },
		{ "x/blobs/sha256/0", "\x1f\x8b\x08\0", 4, ADVISE_LAYER },
		{ "a.gz", "plain", 5, ADVISE_TEXT },
		{ "a", "#!/bin/sh\necho 1\n", 17, ADVISE_SOURCE },
		{ "a.c", "int main;\n", 10, ADVISE_SOURCE },
		{ "a", "hsqs", 4, ADVISE_IMAGE },
		{ "a", "\x7f" "ELF\2\1\1\0AI\2", 11, ADVISE_IMAGE },
		{ "a", "\x7f" "ELF\2\1\1\0", 8, ADVISE_PROGRAM },
		{ "a", "SQLite format 3", 16, ADVISE_DATABASE },
		{ "a", "\0\1\2\3", 4, ADVISE_OTHER },
		{ "a", "Received: from x\nMessage-ID: <1>\n\nHi\n", 37,
		    ADVISE_MAIL },
		{ "mbox", "From a@b Mon\nReceived: x\n\n", 26, ADVISE_MAIL },
		{ "a", "Nov 25 22:37:33 h x\nNov 25 22:37:34 h y\n", 40,
		    ADVISE_LOG },
		{ "a", "time 22:37\nwhen 22:38\n", 22, ADVISE_TEXT },
		{ "a.tar", "", 0, ADVISE_TAR },
		{ "a.unknown", "", 0, ADVISE_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(advise_kind_of(known[i].path,
		    (const uint8_t *)known[i].text, known[i].len),
		    known[i].kind);
	for (int k = 0; k < ADVISE_KINDS; k++)
		assert_int_equal(advise_kind_by_name(advise_kind_name(
		    (enum advise_kind)k)), k);
	assert_int_equal(advise_kind_by_name("none"), ADVISE_KINDS);
}

/* Whether what is decompressed differs in its last byte. */
static bool damaged;

static size_t
damage(void *to, size_t len)
{
	if (damaged && len > 0)
		((uint8_t *)to)[len - 1] ^= 1;
	return len;
}

size_t __real_ZSTD_decompressDCtx(void *c, void *to, size_t room,
    const void *from, size_t len);
size_t __wrap_ZSTD_decompressDCtx(void *c, void *to, size_t room,
    const void *from, size_t len);
size_t __real_ZSTD_decompress(void *to, size_t room, const void *from,
    size_t len);
size_t __wrap_ZSTD_decompress(void *to, size_t room, const void *from,
    size_t len);
int __real_LZ4_decompress_safe(const char *from, char *to, int len, int room);
int __wrap_LZ4_decompress_safe(const char *from, char *to, int len, int room);
int __real_uncompress(uint8_t *to, unsigned long *made, const uint8_t *from,
    unsigned long len);
int __wrap_uncompress(uint8_t *to, unsigned long *made, const uint8_t *from,
    unsigned long len);
int __real_libdeflate_deflate_decompress(void *d, const void *from,
    size_t len, void *to, size_t room, size_t *made);
int __wrap_libdeflate_deflate_decompress(void *d, const void *from,
    size_t len, void *to, size_t room, size_t *made);

size_t
__wrap_ZSTD_decompressDCtx(void *c, void *to, size_t room, const void *from,
    size_t len)
{
	return damage(to, __real_ZSTD_decompressDCtx(c, to, room, from, len));
}

size_t
__wrap_ZSTD_decompress(void *to, size_t room, const void *from, size_t len)
{
	return damage(to, __real_ZSTD_decompress(to, room, from, len));
}

int
__wrap_LZ4_decompress_safe(const char *from, char *to, int len, int room)
{
	return (int)damage(to, (size_t)__real_LZ4_decompress_safe(from, to,
	    len, room));
}

int
__wrap_uncompress(uint8_t *to, unsigned long *made, const uint8_t *from,
    unsigned long len)
{
	int rc = __real_uncompress(to, made, from, len);

	damage(to, *made);
	return rc;
}

int
__wrap_libdeflate_deflate_decompress(void *d, const void *from, size_t len,
    void *to, size_t room, size_t *made)
{
	int rc = __real_libdeflate_deflate_decompress(d, from, len, to, room,
	    made);

	damage(to, *made);
	return rc;
}

/* Text with repetitions near and far. */
static uint8_t *
make_text(size_t len)
{
	uint8_t *p = malloc(len);
	uint64_t seed = 3;

	for (size_t i = 0; i < len;) {
		size_t far = i > 1500000 ? 1200000 : i > 5000 ? 4000 : 0;
		size_t n = 20 + stats_random(&seed) % 60;

		for (size_t k = 0; k < n && i < len; k++, i++)
			p[i] = far > 0 && k > 8 ? p[i - far] :
			    (uint8_t)("etaoin shrdlu"[stats_random(&seed) % 13]);
	}
	return p;
}

/* Parts in their context add up to the whole, for all that has a context. */
static void
context(void **state)
{
	enum { LEN = 3 << 20, PART = 1 << 20 };
	const struct advise_candidate *c = advise_candidates(ADVISE_STREAM);
	uint8_t *p = make_text(LEN);

	(void)state;
	for (unsigned k = 0; c[k].name != NULL; k++) {
		struct advise_trial whole = { .timed = true }, part;
		double sum = 0, alone = 0;

		/* the slow ones are as zstd-9; others have no context */
		if ((strcmp(c[k].format, "zstd") == 0 && c[k].level > 9) ||
		    c[k].window_KiB == 0)
			continue;
		assert_int_equal(advise_try(ADVISE_STREAM, &c[k], p, LEN, 0,
		    &whole), 0);
		assert_true(whole.cpu_s > 0 && whole.back_cpu_s > 0);
		for (size_t at = 0; at < LEN; at += PART) {
			part = (struct advise_trial){ .part = true };
			assert_int_equal(advise_try(ADVISE_STREAM, &c[k],
			    p + at, PART, advise_history(&c[k], at, PART),
			    &part), 0);
			sum += (double)part.size;
			assert_int_equal(advise_try(ADVISE_STREAM, &c[k],
			    p + at, PART, 0, &part), 0);
			alone += (double)part.size;
		}
		print_message("%s: %.4f of the whole, %.4f alone\n", c[k].name,
		    sum / (double)whole.size, alone / (double)whole.size);
		/*
		 * a part that begins with statistics that fit nothing, or in
		 * hash tables filled in another way, loses a little
		 */
		assert_true(sum < 1.05 * (double)whole.size);
		assert_true(sum > 0.98 * (double)whole.size);
		if (c[k].window_KiB >= 2048)
			assert_true(alone > 1.05 * (double)whole.size);
	}
	free(p);
}

static void
reach(void **state)
{
	const struct advise_candidate zstd = { .format = "zstd", .job_MiB = 24,
		.window_KiB = 4096 };
	const struct advise_candidate fast = { .format = "zstd",
		.job_MiB = 16, .window_KiB = 2048 };
	const struct advise_candidate xz = { .format = "xz", .job_MiB = 24,
		.window_KiB = 8192 };
	const struct advise_candidate other = { .format = "xz", .job_MiB = 16,
		.window_KiB = 8192 };
	const size_t MiB = 1 << 20;

	(void)state;
	/* only zstd's first jobs are halves */
	assert_int_equal(advise_reach(&other, 9 * MiB), 8 * MiB);
	assert_int_equal(advise_reach(&zstd, 0), 0);
	assert_int_equal(advise_reach(&zstd, 3 * MiB), 3 * MiB);
	assert_int_equal(advise_reach(&zstd, 7 * MiB), 4 * MiB);
	assert_int_equal(advise_reach(&zstd, 8 * MiB), 4 * MiB);
	assert_int_equal(advise_reach(&zstd, 24 * MiB), 0);
	assert_int_equal(advise_reach(&zstd, 25 * MiB), MiB);
	assert_int_equal(advise_reach(&fast, 8 * MiB), 0);
	assert_int_equal(advise_reach(&fast, 9 * MiB), MiB);
	assert_int_equal(advise_reach(&fast, 16 * MiB), 0);
	assert_int_equal(advise_reach(&fast, 24 * MiB), 2 * MiB);
	assert_int_equal(advise_reach(&fast, 32 * MiB), 0);
	assert_int_equal(advise_reach(&xz, 23 * MiB), 8 * MiB);
	assert_int_equal(advise_reach(&xz, 25 * MiB), MiB);
	/* all of it, if the part ends within the window */
	assert_int_equal(advise_history(&zstd, 3 * MiB, MiB), 3 * MiB);
	assert_int_equal(advise_history(&zstd, 0, MiB), 0);
	assert_int_equal(advise_history(&xz, 23 * MiB, MiB), 8 * MiB);
	/* 3.5 to 4.5 MiB are 4 MiB on average, and 2 to 6, too */
	assert_int_equal(advise_history(&zstd, 7 * MiB, MiB), 7 * MiB / 2);
	assert_int_equal(advise_history(&zstd, 8 * MiB, 4 * MiB), 2 * MiB);
	assert_int_equal(advise_history(&zstd, 8 * MiB, 9 * MiB), 2 * MiB);
	/* from 3 to 4, which it then keeps: 3.75 */
	assert_int_equal(advise_history(&zstd, 3 * MiB, 2 * MiB),
	    11 * MiB / 4);
}

/* Every candidate of every target compresses, and its blocks come back. */
static void
all_targets(void **state)
{
	enum { LEN = 150000 };
	uint8_t *p = make_text(LEN);

	(void)state;
	for (int g = 0; g < ADVISE_TARGETS; g++) {
		const struct advise_candidate *c =
		    advise_candidates((enum advise_target)g);

		for (unsigned k = 0; c[k].name != NULL; k++) {
			struct advise_trial t = { .timed = true };

			assert_true(k < ADVISE_CANDIDATES);
			assert_true(c[k].like < k || c[k].like == 0);
			assert_int_equal(advise_try((enum advise_target)g,
			    &c[k], p, LEN, 0, &t), 0);
			assert_true(t.size > 0 && t.size < LEN);
			assert_true(t.cpu_s > 0 && t.spent_s >= t.cpu_s);
		}
	}
	free(p);
}

/* What does not come back as it was is no result. */
static void
wrong_results(void **state)
{
	static const struct advise_candidate part = { .name = "zstd-3",
		.format = "zstd", .level = 3, .job_MiB = 16,
		.window_KiB = 2048 };
	enum { LEN = 20000 };
	uint8_t *p = make_text(LEN);

	(void)state;
	for (int g = 0; g < ADVISE_TARGETS; g++) {
		const struct advise_candidate *c =
		    advise_candidates((enum advise_target)g);
		struct advise_trial t = { .timed = true };

		/* streams have checksums of their own */
		for (; c->name != NULL; c++) {
			if (c->block == 0 || c->like != 0 ||
			    strcmp(c->format, "xz") == 0 ||
			    strcmp(c->format, "lzo") == 0)
				continue;
			assert_int_equal(advise_try((enum advise_target)g, c,
			    p, LEN, 0, &t), 0);
			damaged = true;
			assert_int_equal(advise_try((enum advise_target)g, c,
			    p, LEN, 0, &t), -EIO);
			damaged = false;
		}
	}
	for (int i = 0; i < 2; i++) {
		struct advise_trial t = { .timed = true, .part = true };

		damaged = i > 0;
		assert_int_equal(advise_try(ADVISE_STREAM, &part, p + 5000,
		    LEN - 5000, 5000, &t), damaged ? -EIO : 0);
		damaged = false;
	}
	free(p);
}

/* Units in which a file comes again, near enough, are a stratum of their own. */
static void
again(void **state)
{
	enum { FILES = 16, MiB = 1 << 20 };
	/* in MiB; the number of the file that it equals */
	static const struct {
		unsigned size, like;
		bool seen;
	} made[FILES] = {
		{ 4, 0, true }, { 1, 1, true }, { 1, 1, true }, { 4, 3, true },
		{ 2, 4, true }, { 2, 4, false }, { 1, 6, true },
		{ 4, 7, true }, { 6, 8, true }, { 1, 6, true },
		{ 3, 10, true }, { 3, 10, true }, { 3, 10, true },
		{ 30, 13, true }, { 3, 10, true }, { 9, 15, true },
	};
	struct advise_file files[FILES];
	struct advise_group g = { .target = ADVISE_STREAM,
	    .kind = ADVISE_KINDS, .count = FILES };
	const struct frame_stratum *h;
	uint64_t size = 0, total = 0;
	char names[FILES][8];

	(void)state;
	g.files = sys_malloc(FILES * sizeof(*g.files));
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(names[i], sizeof(names[i]), "f%02u", i);
		files[i] = (struct advise_file){ .path = names[i],
		    .size = (uint64_t)made[i].size * MiB, .seen = made[i].seen,
		    .head = made[i].like + 1 };
		g.files[i] = &files[i];
	}
	assert_int_equal(advise_group_frame(&g, 1, 1), 0);
	assert_int_equal(g.unit_B, MiB);
	h = &g.frame->strata[FRAME_AGAIN];
	/*
	 * File 2 begins at 5 MiB and a few headers: the unit there; files 11 and
	 * 12, from 29 MiB on, are 6; 9 is too far away from 6, 14 from 12, and of
	 * 5 nothing is known.
	 */
	assert_int_equal(h->units, 7);
	assert_int_equal(h->list[0], 5);
	for (unsigned i = 1; i < 7; i++)
		assert_int_equal(h->list[i], 28 + i);
	assert_int_equal(h->size, 7 * MiB);
	for (unsigned i = 0; i < FRAME_STRATA; i++) {
		size += g.frame->strata[i].size;
		total += g.frame->strata[i].units;
	}
	assert_int_equal(size, g.plain_B);
	assert_int_equal(total, g.plain_B / MiB + 1);
	/* each unit is in one stratum */
	for (uint64_t i = 0; i < g.frame->strata[0].units; i++)
		for (unsigned k = 0; k < 7; k++)
			assert_true(g.frame->strata[0].list[i] != h->list[k]);
	advise_group_free(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(again),
		cmocka_unit_test(wrong_results),
		cmocka_unit_test(kinds),
		cmocka_unit_test(reach),
		cmocka_unit_test(context),
		cmocka_unit_test(all_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
