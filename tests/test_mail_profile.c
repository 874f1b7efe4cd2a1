/* SPDX-License-Identifier: BSD-2-Clause */
#include "mail/mail.h"
#include "mail/measure.h"
#include "mail/text.h"
#include "mail/together.h"
#include "mail/traits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/*
 * More repetition makes the compressed text smaller; the profile relies on
 * this.
 */
static void
repeats_compress(void **state)
{
	struct words *w = calloc(1, sizeof(*w));
	double last = 0;

	(void)state;
	assert_non_null(w);
	for (uint32_t repeat = 0; repeat < PRNG_ONE; repeat += PRNG_ONE / 4) {
		struct measure m = { .every = 1 };
		struct strbuf b = { .data = NULL };
		struct text t;
		struct prng p;

		prng_start(&p, 1, 1);
		words_make(w, &p, true);
		text_start(&t, w, &p, &(struct text_like){ .repeat = repeat });
		text_write(&t, &b, 8000);
		assert_int_equal(measure_mail(&m, b.data, b.len), 0);
		assert_true(measure_ratio_of(&m, 0) > last + 0.1);
		last = measure_ratio_of(&m, 0);
		strbuf_free(&b);
		measure_free(&m);
	}
	free(w);
}

/* Writes 40 texts, one after another, and returns their zstd -3 ratio. */
static double
texts_ratio(const struct words *w, const struct text_like *like)
{
	struct strbuf b = { .data = NULL };
	double ratio[TOGETHER];

	for (uint64_t i = 0; i < 40; i++) {
		struct text t;
		struct prng p;

		prng_start(&p, 1, i);
		text_start(&t, w, &p, like);
		text_write(&t, &b, 8000);
	}
	assert_int_equal(together_ratios(ratio, b.data, b.len), 0);
	strbuf_free(&b);
	return ratio[0];
}

/* The profile relies on both. */
static void
phrases_compress_together(void **state)
{
	struct words *w = calloc(1, sizeof(*w));
	double plain, phrase, novel;
	struct prng p;

	(void)state;
	assert_non_null(w);
	prng_start(&p, 1, 1);
	words_make(w, &p, false);
	plain = texts_ratio(w, &(struct text_like){ .repeat = 9000 });
	phrase = texts_ratio(w, &(struct text_like){ .repeat = 9000,
	    .phrase = PRNG_ONE * 7 / 8 });
	novel = texts_ratio(w, &(struct text_like){ .repeat = 9000,
	    .novel = PRNG_ONE / 4 });
	assert_true(phrase > plain * 1.1);
	assert_true(novel < plain * 0.9);
	free(w);
}

/* Fields count only in messages with room for them. */
static void
traits_of_a_reply(void **state)
{
	static const char first[] = "From: a\nRECEIVED: x\nMessage-ID: <1>\n\n"
	    "caf\xe9\n";
	static const char reply[] = "Received: x\nReceived: y\n"
	    "In-Reply-To: <1>\nDKIM-Signature: z\n\n> one\nfour\n";
	struct mail_like like = mail_like_default;
	struct traits t = { .count = 0 };
	struct strbuf b = { .data = NULL };

	(void)state;
	traits_add(&t, first, sizeof(first) - 1);
	traits_add(&t, reply, sizeof(reply) - 1);
	traits_learn(&t, &like);
	assert_int_equal(like.replies, PRNG_ONE / 2);
	assert_int_equal(like.quoted, 6 * PRNG_ONE / 11);
	assert_int_equal(like.foreign, PRNG_ONE / 2);
	assert_int_equal(like.fields[FIELD_RECEIVED], 0);
	assert_int_equal(like.fields[FIELD_REPLY], PRNG_ONE);
	assert_int_equal(like.fields[FIELD_TO], 0);

	strbuf_str(&b, reply);
	while (b.len < 3000)
		strbuf_str(&b, "four\n");
	traits_add(&t, b.data, b.len);
	traits_learn(&t, &like);
	assert_int_equal(like.fields[FIELD_RECEIVED], PRNG_ONE);
	assert_int_equal(like.fields[FIELD_ROUTE], PRNG_ONE);
	assert_int_equal(like.fields[FIELD_DKIM], PRNG_ONE);
	assert_int_equal(like.fields[FIELD_REFERENCES], 0);
	strbuf_free(&b);
}

static void
measures_an_mbox(void **state)
{
	static const char mbox[] = "From a Mon\nSubject: x\n\nhi\nFrom here\n\n"
	    "From b Tue\nContent-transfer-encoding: base64\n\nAAAA\n";
	struct measure m = { .every = 1 };

	(void)state;
	assert_int_equal(measure_file(&m, mbox, sizeof(mbox) - 1), 0);
	assert_int_equal(m.count, 2);
	assert_int_equal(m.with_parts, 1);
	assert_int_equal(m.sizes[0], strlen("Subject: x\n\nhi\nFrom here\n\n"));
	assert_true(measure_ratio(&m) > 0);
	measure_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeats_compress),
		cmocka_unit_test(phrases_compress_together),
		cmocka_unit_test(traits_of_a_reply),
		cmocka_unit_test(measures_an_mbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
