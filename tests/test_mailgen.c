/* SPDX-License-Identifier: BSD-2-Clause */
#include "mail/mail.h"
#include "mail/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* The output of the published generator from the state 1, 2, 3, 4. */
static void
prng_is_the_published_one(void **state)
{
	static const uint64_t want[] = { 11520, 0, 1509978240,
	    UINT64_C(1215971899390074240), UINT64_C(1216172134540287360),
	    UINT64_C(607988272756665600), UINT64_C(16172922978634559625) };
	struct prng p = { { 1, 2, 3, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_true(prng_next(&p) == want[i]);
}

/* These were computed by a program in another language. */
static void
prng_starts_the_same_for_ever(void **state)
{
	struct prng p;

	(void)state;
	prng_start(&p, 1, 0);
	assert_true(prng_next(&p) == UINT64_C(0x68b02a87b58ad621));
	assert_true(prng_next(&p) == UINT64_C(0x5153de78d62694ca));
	prng_start(&p, 1, 1);
	assert_true(prng_next(&p) == UINT64_C(0x53c348ec4a13cd28));
	prng_start(&p, INT64_MAX, 273272);
	assert_true(prng_next(&p) == UINT64_C(0xc5315292cb4df243));
}

static void
prng_keeps_to_its_ranges(void **state)
{
	unsigned seen[7] = { 0 }, hits = 0;
	struct prng p;

	(void)state;
	prng_start(&p, 5, 5);
	for (int i = 0; i < 70000; i++) {
		uint32_t n = prng_range(&p, 10, 16);

		assert_in_range(n, 10, 16);
		seen[n - 10]++;
		hits += prng_chance(&p, PRNG_ONE / 4);
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 9600, 10400);
	assert_in_range(hits, 17000, 18000);
	assert_int_equal(prng_below(&p, 1), 0);
	assert_false(prng_chance(&p, 0));
	assert_true(prng_chance(&p, PRNG_ONE));
}

static void
sizes_between_nodes(void **state)
{
	const struct sizes *s = &mail_like_default.sizes;
	uint32_t last = 0;

	(void)state;
	assert_int_equal(sizes_node(0), 0);
	assert_int_equal(sizes_node(SIZES_MEDIAN), PRNG_ONE / 2);
	assert_int_equal(sizes_node(SIZES - 2), PRNG_ONE - 1);
	assert_int_equal(sizes_node(SIZES - 1), PRNG_ONE);
	for (unsigned i = 0; i < SIZES - 1; i++) {
		assert_true(sizes_node(i) < sizes_node(i + 1));
		assert_int_equal(sizes_at(s, sizes_node(i) << 16),
		    s->at_B[i]);
	}
	for (uint64_t u = 0; u <= UINT32_MAX; u += 999983) {
		uint32_t size = sizes_at(s, (uint32_t)u);

		assert_true(size >= last);
		last = size;
	}
	assert_true(sizes_at(s, UINT32_MAX) <= s->at_B[SIZES - 1]);
}

static void
sizes_meet_mean_and_median(void **state)
{
	static const uint64_t wanted[][2] = { { 8000, 1720 }, { 3000, 1000 },
	    { 20000, 1720 }, { 500000, 400 }, { 1800, 1720 } };

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct sizes s = mail_like_default.sizes;
		uint64_t mean;

		assert_int_equal(sizes_fit(&s, wanted[i][0], wanted[i][1]), 0);
		mean = sizes_mean(&s);
		assert_in_range(mean, wanted[i][0] * 99 / 100,
		    wanted[i][0] * 101 / 100);
		assert_int_equal(s.at_B[SIZES_MEDIAN], wanted[i][1]);
		for (unsigned k = 0; k + 1 < SIZES; k++)
			assert_true(s.at_B[k] <= s.at_B[k + 1]);
	}
}

static void
sizes_that_cannot_be(void **state)
{
	struct sizes s = mail_like_default.sizes, flat;

	(void)state;
	assert_int_equal(sizes_fit(&s, 1000, 5000), -ERANGE);
	assert_int_equal(sizes_fit(&s, 399, 399), -ERANGE);
	for (unsigned i = 0; i < SIZES; i++)
		flat.at_B[i] = 1000;
	assert_int_equal(sizes_fit(&flat, 8000, 1720), -ERANGE);
	flat.at_B[SIZES - 1]++;
	/* as large as possible, and then a little larger */
	assert_int_equal(sizes_fit(&flat, SIZE_MOST, SIZE_MOST), 0);
	assert_int_equal(sizes_mean(&flat), SIZE_MOST);
	for (unsigned i = 0; i < SIZES; i++)
		flat.at_B[i] = 1000;
	flat.at_B[SIZES - 1]++;
	assert_int_equal(sizes_fit(&flat, SIZE_MOST + 1, SIZE_MOST), -ERANGE);
	assert_int_equal(sizes_fit(&flat, SIZE_MOST, SIZE_MOST + 1), -ERANGE);
	assert_int_equal(sizes_fit(&flat, SIZE_LEAST, SIZE_LEAST - 1),
	    -ERANGE);
	assert_int_equal(sizes_fit(&flat, SIZE_MOST, 1720), -ERANGE);
}

static void
sizes_are_learnt(void **state)
{
	uint64_t sorted[1000];
	struct sizes s;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		sorted[i] = 1000 + 10 * i;
	sizes_learn(&s, sorted, 1000);
	assert_in_range(s.at_B[SIZES_MEDIAN], 5980, 6010);
	assert_int_equal(s.at_B[SIZES - 1], 10990);
	sorted[0] = 1;
	sizes_learn(&s, sorted, 1);
	assert_int_equal(s.at_B[0], SIZE_LEAST);
}

static void
text_is_in_lines(void **state)
{
	struct words *w = calloc(1, sizeof(*w));
	struct strbuf b = { .data = NULL };
	struct text t;
	struct prng p;
	size_t column = 0;

	(void)state;
	assert_non_null(w);
	prng_start(&p, 1, 1);
	words_make(w, &p, false);
	text_start(&t, w, &p,
	    &(struct text_like){ .repeat = PRNG_ONE / 4 });
	text_write(&t, &b, 20000);
	assert_in_range(b.len, 19900, 20020);
	assert_int_equal(b.data[b.len - 1], '\n');
	for (size_t i = 0; i < b.len; i++) {
		assert_true((unsigned char)b.data[i] < 0x80);
		column = b.data[i] == '\n' ? 0 : column + 1;
		assert_true(column < 90);
	}
	strbuf_free(&b);
	free(w);
}

static void
quotes(void **state)
{
	static const char body[] = "one\n> two\n> > > > > three\n\nfour\n";
	struct strbuf b = { .data = NULL };
	bool all = false;

	(void)state;
	for (uint64_t i = 0; i < 20 && !all; i++) {
		struct prng p;

		prng_start(&p, i, 0);
		strbuf_clear(&b);
		text_quote(&p, &b, body, sizeof(body) - 1, 1000);
		strbuf_char(&b, '\0');
		all = strcmp(b.data, "> one\n>> two\n> \n> four\n") == 0;
	}
	assert_true(all);
	strbuf_free(&b);
}

static void
encodings(void **state)
{
	static const char text[] = "caf\xe9 = x \nna\xefve";
	static const char *const want[ENCODE_COUNT] = { text, text,
	    "caf\xc3\xa9 = x \nna\xc3\xafve", "caf=E9 =3D x=20\nna=EFve",
	    "caf=C3=A9 =3D x=20\nna=C3=AFve" };
	struct strbuf b = { .data = NULL };
	char line[ENCODE_LINE];
	uint8_t raw[ENCODE_RAW];

	(void)state;
	for (int i = 0; i < ENCODE_COUNT; i++) {
		strbuf_clear(&b);
		encode_text(&b, text, sizeof(text) - 1, (enum encoding)i);
		assert_int_equal(b.len, strlen(want[i]));
		assert_memory_equal(b.data, want[i], b.len);
	}
	strbuf_clear(&b);
	encode_phrase(&b, "na\xefve caf\xe9", ENCODE_UTF8_QP);
	assert_memory_equal(b.data, "=?utf-8?q?na=C3=AFve_caf=C3=A9?=", b.len);
	for (int i = 0; i < ENCODE_RAW; i++)
		raw[i] = (uint8_t)(255 - i);
	encode_line(line, raw);
	assert_memory_equal(line, "//79/Pv6+fj39vX08/Lx8O/u7ezr6uno5+bl5OPi"
	    "4eDf3t3c29rZ2NfW1dTT0tHQz87NzMvKycjH\n", ENCODE_LINE);
	strbuf_free(&b);
}

static void
make_week(struct mail_maker *m, uint64_t week, struct strbuf *all)
{
	mail_week(m, week);
	for (unsigned i = 0; i < MAIL_WEEK; i++) {
		assert_int_equal(mail_next(m), 0);
		strbuf_add(all, m->out.data, m->out.len);
	}
}

/* What a thread did earlier does not matter. */
static void
weeks_stand_alone(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct mail_maker *m = calloc(1, sizeof(*m));
	struct strbuf one = { .data = NULL }, two = { .data = NULL };

	(void)state;
	assert_non_null(w);
	assert_non_null(m);
	assert_int_equal(world_make(w, 7, 1), 0);
	*m = (struct mail_maker){ .world = w, .like = &mail_like_default,
	    .seed = 7 };
	make_week(m, 3, &one);
	make_week(m, 0, &two);
	assert_true(one.len != two.len ||
	    memcmp(one.data, two.data, one.len) != 0);
	strbuf_clear(&two);
	make_week(m, 3, &two);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.data, two.data, one.len);
	for (unsigned i = 0; i < MAIL_WEEK; i++) {
		const struct mail *a = &m->mails[i];

		assert_true(i == 0 || a->date > m->mails[i - 1].date);
		if (a->parent != MAIL_NONE)
			assert_true(m->mails[a->parent].sent < a->sent);
		if (a->twin != MAIL_NONE)
			assert_string_equal(a->id, m->mails[a->twin].id);
	}
	mail_free(m);
	world_free(w);
	strbuf_free(&one);
	strbuf_free(&two);
	free(m);
	free(w);
}

/* The week's texts may be empty, but are still accessed by offset. */
static void
nothing_has_a_place(void **state)
{
	static const struct mail_like least = {
	    .text = { .repeat = PRNG_ONE } };
	struct mail_maker *m = calloc(1, sizeof(*m));
	struct world w;
	struct strbuf b = { .data = NULL };

	(void)state;
	strbuf_str(&b, "");
	assert_non_null(b.data);
	assert_int_equal(b.len, 0);
	strbuf_free(&b);

	assert_non_null(m);
	assert_int_equal(world_make(&w, 0, 1), 0);
	m->world = &w;
	m->like = &least;
	mail_week(m, 0);
	for (int i = 0; i < 40; i++)
		assert_int_equal(mail_next(m), 0);
	mail_free(m);
	world_free(&w);
	free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prng_is_the_published_one),
		cmocka_unit_test(prng_starts_the_same_for_ever),
		cmocka_unit_test(prng_keeps_to_its_ranges),
		cmocka_unit_test(sizes_between_nodes),
		cmocka_unit_test(sizes_meet_mean_and_median),
		cmocka_unit_test(sizes_that_cannot_be),
		cmocka_unit_test(sizes_are_learnt),
		cmocka_unit_test(text_is_in_lines),
		cmocka_unit_test(quotes),
		cmocka_unit_test(encodings),
		cmocka_unit_test(weeks_stand_alone),
		cmocka_unit_test(nothing_has_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
