/*
 * test_digest.c - known answers, and reused contexts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The answers are those of the examples in FIPS 180-4 and RFC 1321.
 */
#include "sys_fault.h"

#include "base/bytes.h"
#include "engine/digest/digest.h"
#include "engine/digest/mac.h"

#include "../src/engine/digest/sha256.h"
#include "base/sys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char empty_sha[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char abc_sha[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char abc_md5[] = "900150983cd24fb0d6963f7d28e17f72";

static void
assert_hex(const uint8_t *digest, size_t len, const char *hex)
{
	char text[2 * DIGEST_MAX + 1] = "";

	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	assert_string_equal(text, hex);
}

static void
test_known(void **state)
{
	static const struct {
		const char *name, *data, *hex;
		unsigned len;
	} all[] = {
		{ "sha256", "", empty_sha, 32 },
		{ "sha256", "abc", abc_sha, 32 },
		{ "md5", "abc", abc_md5, 16 },
	};
	struct digest_algo *a;
	struct digest *d;
	uint8_t out[DIGEST_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(digest_algo_open(&a, all[i].name), 0);
		assert_int_equal(digest_len(a), all[i].len);
		assert_string_equal(digest_name(a), all[i].name);
		assert_int_equal(digest_new(&d, a), 0);
		assert_int_equal(digest_once(d, all[i].data,
		    strlen(all[i].data), out), 0);
		assert_hex(out, all[i].len, all[i].hex);
		digest_free(d);
		digest_algo_close(a);
	}
}

/* A context works after an abandoned digest, and when fed byte by byte. */
static void
test_again(void **state)
{
	struct digest_algo *a;
	struct digest *d;
	uint8_t out[DIGEST_MAX];

	(void)state;
	assert_int_equal(digest_algo_open(&a, "sha256"), 0);
	assert_int_equal(digest_new(&d, a), 0);
	assert_int_equal(digest_start(d), 0);
	assert_int_equal(digest_add(d, "given up", 8), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(digest_start(d), 0);
		assert_int_equal(digest_add(d, "a", 1), 0);
		assert_int_equal(digest_add(d, "", 0), 0);
		assert_int_equal(digest_add(d, "bc", 2), 0);
		assert_int_equal(digest_end(d, out), 0);
		assert_hex(out, 32, abc_sha);
	}
	digest_free(d);
	digest_algo_close(a);
}

static void
test_none(void **state)
{
	struct digest_algo *a;
	struct digest *d;
	uint8_t out[DIGEST_MAX];

	(void)state;
	assert_int_equal(digest_algo_open(&a, "none"), 0);
	assert_int_equal(digest_len(a), 0);
	assert_int_equal(digest_new(&d, a), 0);
	assert_int_equal(digest_once(d, "abc", 3, out), 0);
	digest_free(d);
	digest_algo_close(a);
	assert_int_equal(digest_algo_open(&a, "sha257"), -EINVAL);
	assert_int_equal(digest_algo_open(&a, ""), -EINVAL);
	digest_algo_close(NULL);
	digest_free(NULL);
}

/*
 * When pieces of many files are added together, those of at most one file may
 * be left over, and in the end all files have the same digests as when hashed
 * one by one.
 */
static void
add_together(const char *name)
{
	enum { FILES = 21, FILE_B = 20000 };
	static uint8_t data[FILE_B + FILES];
	struct digest_algo *a;
	struct digest *d[FILES], *one;
	struct digest_piece p[FILES];
	uint8_t got[DIGEST_MAX], want[DIGEST_MAX];
	uint32_t any = 1;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(any = any * 69069 + 1);
	assert_int_equal(digest_algo_open(&a, name), 0);
	assert_int_equal(digest_new(&one, a), 0);
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(digest_new(&d[i], a), 0);
	for (int round = 0; round < 500; round++) {
		size_t count = 1 + (size_t)round % FILES, len[FILES], left = 0;

		for (size_t i = 0; i < count; i++) {
			any = any * 69069 + 1;
			len[i] = (any >> 8) % (round % 3 == 0 ? 130 : FILE_B);
			p[i] = (struct digest_piece){ d[i], data + i, len[i] };
			assert_int_equal(digest_start(d[i]), 0);
		}
		assert_int_equal(digest_add_some(p, count, round % 2), 0);
		for (size_t i = 0; i < count; i++) {
			left += p[i].len > 0;
			assert_ptr_equal(p[i].data + p[i].len,
			    data + i + len[i]);
		}
		assert_true(left <= (round % 2 ? 0 : 1));
		assert_int_equal(digest_add_some(p, count, true), 0);
		for (size_t i = 0; i < count; i++) {
			memset(got, 0, sizeof(got));
			memset(want, 0, sizeof(want));
			assert_int_equal(digest_end(d[i], got), 0);
			assert_int_equal(digest_once(one, data + i, len[i],
			    want), 0);
			assert_memory_equal(got, want, DIGEST_MAX);
		}
	}
	for (size_t i = 0; i < FILES; i++)
		digest_free(d[i]);
	digest_free(one);
	digest_algo_close(a);
}

static void
test_together(void **state)
{
	(void)state;
	add_together("sha256");
	add_together("md5");
	add_together("none");
	assert_int_equal(digest_add_some(NULL, 0, true), 0);
}

static void
test_lanes(void **state)
{
	struct digest_algo *a;

	(void)state;
	assert_int_equal(digest_algo_open(&a, "md5"), 0);
	assert_int_equal(digest_lanes(a), 1);
	digest_algo_close(a);
	assert_int_equal(digest_algo_open(&a, "sha256"), 0);
	assert_int_equal(digest_lanes(a), sha256_lanes() > 0 ? sha256_lanes() :
	    1);
	digest_algo_close(a);
	if (sha256_lanes() > 0)
		assert_string_not_equal(digest_sha256_by(), "openssl");
	else
		assert_string_equal(digest_sha256_by(), "openssl");
}

/* "test_digest cost" prints nanoseconds per small file, for the curious. */
static void
cost(size_t len)
{
	enum { TIMES = 1000000 };
	static uint8_t data[65536];
	struct digest_algo *a;
	struct digest *d;
	uint8_t out[DIGEST_MAX];
	uint64_t t0;

	if (digest_algo_open(&a, "sha256") != 0 || digest_new(&d, a) != 0)
		return;
	t0 = sys_now_ns();
	for (int i = 0; i < TIMES; i++)
		digest_once(d, data, len, out);
	printf("%zu bytes: %.0f ns\n", len,
	    (double)(sys_now_ns() - t0) / TIMES);
	digest_free(d);
	digest_algo_close(a);
}

/*
 * The answer is from test case 1 in "The Galois/Counter Mode of Operation
 * (GCM)": no data at all, with a key of zeros.
 */
static void
test_mac(void **state)
{
	static const uint8_t zeros[MAC_KEY];
	static const uint8_t first[8] = { 0x58, 0xe2, 0xfc, 0xce, 0xfa, 0x7e,
		0x30, 0x61 };
	uint8_t key[MAC_KEY], other[MAC_KEY];
	uint64_t tag[4];
	struct mac *m;

	(void)state;
	assert_int_equal(mac_open(&m, zeros), 0);
	assert_int_equal(mac_start(m), 0);
	assert_int_equal(mac_end(m, &tag[0]), 0);
	assert_true(tag[0] == load_le64(first));
	for (int i = 1; i < 4; i++) {
		assert_int_equal(mac_start(m), 0);
		assert_int_equal(mac_add(m, "abc", 3), 0);
		assert_int_equal(mac_add(m, i == 3 ? "e" : "d", 1), 0);
		assert_int_equal(mac_end(m, &tag[i]), 0);
	}
	assert_true(tag[1] == tag[2] && tag[1] != tag[3] && tag[1] != tag[0]);
	mac_close(m);
	assert_int_equal(mac_key(key), 0);
	assert_int_equal(mac_key(other), 0);
	assert_memory_not_equal(key, other, MAC_KEY);
}

/* Returns the first error of a digest's life, or 0. */
static int
live_digest(const char *name)
{
	struct digest_algo *a = NULL;
	struct digest *d = NULL;
	uint8_t out[DIGEST_MAX];
	int rc = digest_algo_open(&a, name);

	if (rc == 0)
		rc = digest_new(&d, a);
	if (rc == 0)
		rc = digest_once(d, "abc", 3, out);
	digest_free(d);
	digest_algo_close(a);
	return rc;
}

static int
live_mac(const char *name)
{
	static const uint8_t zeros[MAC_KEY];
	struct mac *m = NULL;
	uint64_t tag;
	int rc = mac_open(&m, zeros);

	(void)name;
	if (rc == 0)
		rc = mac_start(m);
	if (rc == 0)
		rc = mac_add(m, "abc", 3);
	if (rc == 0)
		rc = mac_end(m, &tag);
	mac_close(m);
	return rc;
}

/* Whatever memory is refused, and whatever OpenSSL does not do, is an error. */
static void
test_refused(void **state)
{
	static const struct {
		int (*live)(const char *name);
		const char *name;
	} rows[] = {
		{ live_digest, "sha256" }, { live_digest, "sha1" },
		{ live_digest, "md5" }, { live_mac, NULL },
	};
	static const enum fault_kind kinds[] = { FAULT_MALLOC, FAULT_LIBRARY };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		enum fault_kind kind = kinds[i % 2];
		long blocks = fault_blocks();
		unsigned long n;

		assert_true(fault_plan(""));
		assert_int_equal(rows[i / 2].live(rows[i / 2].name), 0);
		n = fault_count(kind);
		assert_true(n > 0 || rows[i / 2].name != NULL);
		for (unsigned long k = 1; k <= n; k++) {
			char plan[64];

			snprintf(plan, sizeof(plan), "%s:%lu:ENOMEM",
			    fault_names[kind], k);
			assert_true(fault_plan(plan));
			assert_true(rows[i / 2].live(rows[i / 2].name) < 0);
			assert_int_equal(fault_blocks(), blocks);
		}
		assert_true(fault_plan(""));
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_together),
		cmocka_unit_test(test_lanes),
		cmocka_unit_test(test_mac),
		cmocka_unit_test(test_refused),
	};

	if (argc == 2 && strcmp(argv[1], "cost") == 0) {
		cost(0);
		cost(64);
		cost(4096);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
