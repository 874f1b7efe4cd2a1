/*
 * test_sha256.c - our SHA-256 against OpenSSL's: lengths, positions and lanes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The known answers are from NIST's examples for FIPS 180-4.
 */
#include "../src/engine/digest/sha256.h"

#include <openssl/evp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DATA_B = 1 << 16, ROUNDS = 3000 };

static uint8_t data[DATA_B];
static unsigned lanes;			/* of the instructions under test */

/* Returns random numbers, the same each time. */
static uint32_t
any(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*seed >> 33) % below;
}

static int
fill(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < DATA_B; i++)
		data[i] = (uint8_t)any(&seed, 256);
	return 0;
}

static void
start(struct sha256 *s)
{
	s->lanes = lanes;
	sha256_start(s);
}

static void
assert_right(struct sha256 *s, const uint8_t *p, size_t len)
{
	uint8_t got[SHA256_B], want[SHA256_B];

	sha256_end(s, got);
	assert_int_equal(EVP_Digest(p, len, want, NULL, EVP_sha256(), NULL),
	    1);
	assert_memory_equal(got, want, SHA256_B);
}

static void
known_answers(void **state)
{
	static const struct {
		const char *text, *hex;
	} all[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb924"
		    "27ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223"
		    "b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		    "248d6a61d20638b8e5c026930c3e6039"
		    "a33ce45964ff2167f6ecedd419db06c1" },
		{ "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		    "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		    "cf5b16a778af8380036ce59e7b049237"
		    "0b249b11e8f07a51afac45037afee9d1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char hex[2 * SHA256_B + 1];
		uint8_t out[SHA256_B];
		struct sha256 s;

		start(&s);
		sha256_add(&s, all[i].text, strlen(all[i].text));
		sha256_end(&s, out);
		for (int k = 0; k < SHA256_B; k++)
			snprintf(hex + 2 * k, 3, "%02x", out[k]);
		assert_string_equal(hex, all[i].hex);
	}
}

/* Tests all possible tails. */
static void
every_length(void **state)
{
	struct sha256 s;

	(void)state;
	for (size_t len = 0; len < 300; len++) {
		start(&s);
		sha256_add(&s, data + len % 5, len);
		assert_right(&s, data + len % 5, len);
	}
}

static void
any_pieces(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t *p = data + any(&seed, 64);
		size_t len = any(&seed, 5000), done = 0;
		struct sha256 s;

		start(&s);
		while (done < len) {
			size_t n = any(&seed, 300);

			n = n < len - done ? n : len - done;
			sha256_add(&s, p + done, n);
			done += n;
		}
		assert_right(&s, p, len);
	}
}

/*
 * Computes 1 to `lanes` digests together, each with a piece before and one
 * after.
 */
static void
any_lanes(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		struct sha256 s[SHA256_LANES_MAX];
		struct sha256_piece p[SHA256_LANES_MAX];
		struct sha256_piece *all[SHA256_LANES_MAX];
		const uint8_t *begin[SHA256_LANES_MAX];
		size_t len[SHA256_LANES_MAX], left = SIZE_MAX;
		unsigned count = 1 + any(&seed, lanes);

		for (unsigned k = 0; k < count; k++) {
			size_t head = any(&seed, 2) ? any(&seed, 200) : 0;

			begin[k] = data + any(&seed, 1000);
			len[k] = head + any(&seed, any(&seed, 2) ? 70 : 9000);
			start(&s[k]);
			sha256_add(&s[k], begin[k], head);
			p[k] = (struct sha256_piece){ &s[k], begin[k] + head,
				len[k] - head };
			all[k] = &p[k];
		}
		sha256_add_many(all, count);
		for (unsigned k = 0; k < count; k++) {
			size_t tail = any(&seed, 100);

			left = p[k].len < left ? p[k].len : left;
			assert_ptr_equal(p[k].data + p[k].len,
			    begin[k] + len[k]);
			sha256_add(&s[k], p[k].data, p[k].len + tail);
			assert_right(&s[k], begin[k], len[k] + tail);
		}
		assert_int_equal(left, 0);
	}
}

/* The number of bits is correct even if it does not fit in 32 bits. */
static void
long_one(void **state)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	uint8_t got[SHA256_B], want[SHA256_B];
	struct sha256 s;

	(void)state;
	start(&s);
	assert_int_equal(EVP_DigestInit_ex(c, EVP_sha256(), NULL), 1);
	for (int i = 0; i < (600 << 20) / DATA_B; i++) {
		sha256_add(&s, data, DATA_B);
		EVP_DigestUpdate(c, data, DATA_B);
	}
	sha256_end(&s, got);
	EVP_DigestFinal_ex(c, want, NULL);
	assert_memory_equal(got, want, SHA256_B);
	EVP_MD_CTX_free(c);
}

static int
run(const char *name, bool usable, unsigned at_a_time)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(every_length),
		cmocka_unit_test(any_pieces),
		cmocka_unit_test(any_lanes),
		cmocka_unit_test(long_one),
	};

	printf("%s: %s\n", name, usable ? "tested" : "not in this processor");
	lanes = at_a_time;
	return usable ? cmocka_run_group_tests(tests, fill, NULL) : 0;
}

int
main(void)
{
	bool ni = sha256_ni_usable(), avx2 = sha256_avx2_usable();
	int failed = run("SHA instructions", ni, 2) + run("AVX2", avx2, 8);

	return !ni && !avx2 ? 77 : failed != 0;
}
