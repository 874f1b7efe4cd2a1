/*
 * test_cas_unit.c - objects of CVMFS repositories that are wrong
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/lazy/cvmfs/cas_read.h"
#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <zlib.h>

enum { LEN = 1000 };

/* A layer of one object, which is not read from a repository. */
struct scene {
	struct layer l;
	struct cas_state state;
	struct layer_decoder *d;
	uint8_t content[LEN], got[LEN];
	uint8_t stored[2 * LEN];
	struct layer_range range;
};

/* Digests are right, and fail if this is set. */
static int digest_fails;

int __real_digest_once(struct digest *d, const void *data, size_t len,
    uint8_t sum[DIGEST_MAX]);
int __wrap_digest_once(struct digest *d, const void *data, size_t len,
    uint8_t sum[DIGEST_MAX]);

int
__wrap_digest_once(struct digest *d, const void *data, size_t len,
    uint8_t sum[DIGEST_MAX])
{
	int rc = __real_digest_once(d, data, len, sum);

	return digest_fails ? -EIO : rc;
}

static void
open_scene(struct scene *s, bool plain)
{
	uint8_t hash[DIGEST_MAX];
	char why[LAYER_WHY];
	struct digest *d;
	uLongf n = sizeof(s->stored);

	*s = (struct scene){ .l = { .format = &format_cas } };
	for (size_t i = 0; i < LEN; i++)
		s->content[i] = (uint8_t)(i % 251);
	assert_int_equal(digest_algo_open(&s->state.sha1, "sha1"), 0);
	assert_int_equal(digest_new(&d, s->state.sha1), 0);
	if (plain)
		memcpy(s->stored, s->content, n = LEN);
	else
		assert_int_equal(compress(s->stored, &n, s->content, LEN),
		    Z_OK);
	assert_int_equal(digest_once(d, s->stored, n, hash), 0);
	digest_free(d);
	s->l.state = &s->state;
	assert_int_equal(cas_unit_add(&s->l, hash, '\0', plain, LEN, why), 0);
	assert_int_equal(layer_decoder_open(&s->d, &s->l), 0);
	s->range = (struct layer_range){ .length = n, .buf = s->stored };
}

static void
close_scene(struct scene *s)
{
	layer_decoder_close(s->d);
	index_free(&s->l.index);
	sys_free(s->state.units);
	sys_free(s->state.table);
	digest_algo_close(s->state.sha1);
}

static void
objects(void **state)
{
	(void)state;
	for (int plain = 0; plain < 2; plain++) {
		const char *why = NULL;
		struct scene s;

		open_scene(&s, plain);
		assert_int_equal(layer_decode(s.d, 0, &s.range, s.got, &why),
		    0);
		assert_memory_equal(s.got, s.content, LEN);
		/* a digest that cannot be calculated does not match */
		digest_fails = 1;
		assert_int_equal(layer_decode(s.d, 0, &s.range, s.got, &why),
		    -EBADMSG);
		digest_fails = 0;
		/* verified before: once more, whatever is in it */
		memset(s.got, 0, LEN);
		assert_int_equal(layer_decode_again(s.d, 0, &s.range, s.got,
		    &why), 0);
		assert_memory_equal(s.got, s.content, LEN);
		close_scene(&s);
	}
}

/* Any byte that differs is an error, and also one that does not matter. */
static void
wrong_objects(void **state)
{
	(void)state;
	for (int plain = 0; plain < 2; plain++) {
		const char *why = NULL;
		struct scene s;

		open_scene(&s, plain);
		for (size_t i = 0; i < s.range.length; i++) {
			s.stored[i] ^= 1;
			assert_int_equal(layer_decode(s.d, 0, &s.range, s.got,
			    &why), -EBADMSG);
			assert_string_equal(why,
			    "an object does not match its hash");
			s.stored[i] ^= 1;
		}
		s.range.length--;
		assert_int_equal(layer_decode(s.d, 0, &s.range, s.got, &why),
		    -EBADMSG);
		close_scene(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects),
		cmocka_unit_test(wrong_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
