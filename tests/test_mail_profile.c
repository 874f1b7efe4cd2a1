/* SPDX-License-Identifier: BSD-2-Clause */
#include "mail/mail.h"
#include "mail/measure.h"
#include "mail/text.h"
#include "sys_fault.h"

#include <errno.h>
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
texts_ratio(const struct words *w, const struct text_like *like,
    unsigned per_topic)
{
	struct strbuf b = { .data = NULL };
	double ratio[TOGETHER];

	for (uint64_t i = 0; i < 40; i++) {
		struct text t;
		struct prng p;

		prng_start(&p, 1, i);
		text_start(&t, w, &p, like);
		t.topic = i / per_topic;
		text_write(&t, &b, 8000);
	}
	assert_int_equal(together_ratios(ratio, b.data, b.len), 0);
	strbuf_free(&b);
	return ratio[0];
}

/* The profile relies on all of these. */
static void
phrases_compress_together(void **state)
{
	struct words *w = calloc(1, sizeof(*w));
	double plain, phrase, novel, topics;
	struct text_like topical = { .repeat = 9000, .topic = PRNG_ONE / 2 };
	struct prng p;

	(void)state;
	assert_non_null(w);
	prng_start(&p, 1, 1);
	words_make(w, &p, false);
	plain = texts_ratio(w, &(struct text_like){ .repeat = 9000 }, 1);
	phrase = texts_ratio(w, &(struct text_like){ .repeat = 9000,
	    .phrase = PRNG_ONE * 7 / 8 }, 1);
	novel = texts_ratio(w, &(struct text_like){ .repeat = 9000,
	    .novel = PRNG_ONE / 4 }, 1);
	topics = texts_ratio(w, &topical, 1);
	assert_true(texts_ratio(w, &topical, 20) > topics * 1.02);
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
traits_of_lines(void **state)
{
	static const char first[] = "Message-ID: <ab@c>\nX-Of-All: a b\n"
	    "X-Key: 0123456789abcdefABCDEF0123456789+/Z=\n\n"
	    "this line recurs\nshort\n";
	static const char next[] = "X-Of-All: a b\n\n> this line recurs\n"
	    "this line recurs\nshort\nother line\nother line\n";
	struct mail_like like = mail_like_default;
	struct traits *t = calloc(1, sizeof(*t));

	(void)state;
	assert_non_null(t);
	traits_add(t, first, sizeof(first) - 1);
	assert_int_equal(t->again_B + t->same_B, 0);
	assert_int_equal(t->token_B, 35);
	traits_add(t, next, sizeof(next) - 1);
	traits_learn(t, &like);
	assert_int_equal(like.id_B, 6);
	assert_int_equal(t->same_B, strlen("X-Of-All: a b\n"));
	assert_int_equal(t->again_B, strlen("this line recurs\n"));
	assert_int_equal(t->own_B, strlen("this line recurs\nshort\n"
	    "this line recurs\nshort\nother line\nother line\n"));
	free(t);
}

/* Generates a week of messages and measures them. */
static void
add_week(struct traits *t, const struct mail_like *like)
{
	struct mail_maker *m = calloc(1, sizeof(*m));
	struct world *w = calloc(1, sizeof(*w));

	assert_true(m != NULL && w != NULL && world_make(w, 1, 1) == 0);
	m->world = w;
	m->like = like;
	mail_week(m, 0);
	for (int i = 0; i < MAIL_WEEK; i++) {
		assert_int_equal(mail_next(m), 0);
		traits_add(t, m->out.data, m->out.len);
	}
	mail_free(m);
	world_free(w);
	free(w);
	free(m);
}

static double
share_of(uint64_t part, uint64_t all)
{
	return (double)part / (double)all;
}

/* Other header fields and repeated lines are generated. */
static void
generates_lines(void **state)
{
	struct mail_like like = mail_like_default;
	struct traits *t = calloc(3, sizeof(*t));

	(void)state;
	assert_non_null(t);
	like.attachments = 0;
	for (unsigned i = 0; i < SIZES; i++)
		like.sizes.at_B[i] += 8000;
	add_week(&t[0], &like);
	like.id_B = 50;
	like.again = PRNG_ONE / 2;
	like.more_B = 3000;
	like.signatures = 0;
	like.constant = PRNG_ONE;
	add_week(&t[1], &like);
	like.signatures = PRNG_ONE;
	like.constant = 0;
	add_week(&t[2], &like);
	assert_true(t[1].head_B > t[0].head_B + 2700 * MAIL_WEEK &&
	    t[1].head_B < t[0].head_B + 3300 * MAIL_WEEK);
	assert_true(t[1].id_B / MAIL_WEEK >= 48 &&
	    t[1].id_B / MAIL_WEEK <= 52);
	assert_true(share_of(t[1].again_B, t[1].own_B) >
	    share_of(t[0].again_B, t[0].own_B) + 0.3);
	assert_true(t[1].same_B > t[0].same_B + 2000 * MAIL_WEEK);
	assert_true(t[2].token_B > t[1].token_B + 1000 * MAIL_WEEK);
	free(t);
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

/* Each refusal has its own error. */
static void
refuses_mail(void **state)
{
	static const char mail[] = "Content-Disposition: attachment\n\nx\n";
	struct measure m = { .every = 1 };

	(void)state;
	assert_true(fault_plan("malloc:1:ENOMEM"));
	assert_int_equal(measure_mail(&m, mail, sizeof(mail)), -ENOMEM);
	assert_true(fault_plan(""));
	/* the first line is all that is looked at */
	if (SIZE_MAX > UINT32_MAX)
		assert_int_equal(measure_mail(&m, mail,
		    (size_t)UINT32_MAX + 1), -EFBIG);
	assert_int_equal(m.count, 0);
	assert_int_equal(measure_mail(&m, mail, sizeof(mail)), 0);
	assert_int_equal(m.count, 1);
	measure_free(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeats_compress),
		cmocka_unit_test(phrases_compress_together),
		cmocka_unit_test(traits_of_a_reply),
		cmocka_unit_test(traits_of_lines),
		cmocka_unit_test(generates_lines),
		cmocka_unit_test(measures_an_mbox),
		cmocka_unit_test(refuses_mail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
