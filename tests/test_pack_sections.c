/*
 * test_pack_sections.c - each byte is in the section of the lists that name it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The oracle is a mask of lists for each byte of each file.
 */
#include "pack_sections.h"

#include "base/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { FILES = 4, SIZE = 300, TOUCHES = 4000, MANY = 63 };

#define ROOM (UINT64_C(1) << 30)

struct lists {
	struct pack_touch *touches;
	size_t count;
	unsigned lists;
	uint32_t masks[FILES][SIZE];	/* which lists name a byte */
};

/* Returns where a byte is in the archive. */
static uint64_t
place(uint32_t entry, uint64_t offset)
{
	return 1000 * (entry + 1) + offset;
}

static void
add(struct lists *l, uint32_t list, uint32_t entry, uint64_t offset,
    uint64_t length)
{
	if (l->touches == NULL)
		l->touches = sys_calloc(TOUCHES, sizeof(*l->touches));
	assert_true(l->count < TOUCHES);
	l->touches[l->count++] = (struct pack_touch){ .entry = entry,
		.section = list, .offset = offset, .length = length,
		.at = place(entry, offset) };
	for (uint64_t i = offset; i < offset + length; i++)
		l->masks[entry][i] |= UINT32_C(1) << list;
	if (list >= l->lists)
		l->lists = list + 1;
}

static void
divide(struct lists *l, size_t most, uint64_t room)
{
	assert_int_equal(pack_sections(&l->touches, &l->count, l->lists, most,
	    0, room), 0);
}

static void
done(struct lists *l)
{
	sys_free(l->touches);
	memset(l, 0, sizeof(*l));
}

/*
 * Checks that every named byte is there once, and that sections are numbered.
 * Returns their number; section_of becomes each byte's, plus 1.
 */
static size_t
check(const struct lists *l, uint32_t section_of[FILES][SIZE])
{
	uint32_t sections = 0;

	memset(section_of, 0, sizeof(uint32_t) * FILES * SIZE);
	for (size_t i = 0; i < l->count; i++) {
		const struct pack_touch *t = &l->touches[i];

		assert_true(t->entry < FILES && t->length > 0);
		assert_true(t->offset + t->length <= SIZE);
		assert_true(t->at == place(t->entry, t->offset));
		assert_true(t->section == sections || t->section ==
		    sections + 1);
		sections = t->section;
		for (uint64_t k = t->offset; k < t->offset + t->length; k++) {
			assert_int_equal(section_of[t->entry][k], 0);
			section_of[t->entry][k] = t->section + 1;
		}
	}
	for (size_t e = 0; e < FILES; e++)
		for (size_t k = 0; k < SIZE; k++)
			assert_int_equal(section_of[e][k] != 0,
			    l->masks[e][k] != 0);
	return sections;
}

/* Checks that bytes are in the same section if the same lists name them. */
static void
check_sets(const struct lists *l)
{
	uint32_t sections[FILES][SIZE], mask_of[TOUCHES] = { 0 };
	uint32_t all = (UINT32_C(1) << l->lists) - 1;
	size_t last = check(l, sections);
	uint32_t *of = calloc(all + (size_t)1, sizeof(*of));

	for (size_t e = 0; e < FILES; e++)
		for (size_t k = 0; k < SIZE; k++) {
			uint32_t mask = l->masks[e][k], s = sections[e][k];

			if (mask == 0)
				continue;
			assert_true(s - 1 <= last);
			assert_int_equal(s == 1, mask == all);
			assert_true(of[mask] == 0 || of[mask] == s);
			assert_true(mask_of[s] == 0 || mask_of[s] == mask);
			of[mask] = s;
			mask_of[s] = mask;
		}
	free(of);
}

static void
ranges(void **state)
{
	struct lists l = { .count = 0 };

	(void)state;
	/* overlaps in a list, and between three */
	add(&l, 0, 1, 0, 100);
	add(&l, 0, 1, 50, 100);
	add(&l, 0, 2, 0, SIZE);
	add(&l, 1, 1, 80, 20);
	add(&l, 1, 1, 140, 100);
	add(&l, 2, 1, 90, 60);
	add(&l, 2, 3, 7, 1);
	divide(&l, MANY, ROOM);
	check_sets(&l);
	/* [90, 100) and [140, 150) of file 1 */
	assert_int_equal(l.touches[0].section, 0);
	assert_int_equal(l.touches[0].offset, 90);
	assert_int_equal(l.touches[0].length, 10);
	assert_int_equal(l.touches[1].offset, 140);
	assert_int_equal(l.touches[1].length, 10);
	/* then what is first in the first list */
	assert_int_equal(l.touches[2].section, 1);
	assert_int_equal(l.touches[2].offset, 0);
	assert_int_equal(l.touches[2].length, 80);
	assert_int_equal(l.touches[3].entry, 2);
	done(&l);
}

static void
special(void **state)
{
	struct lists l = { .count = 0 };
	uint32_t sections[FILES][SIZE];

	(void)state;
	/* none */
	l.lists = 2;
	divide(&l, MANY, ROOM);
	assert_int_equal(l.count, 0);
	/* the same list twice: all of it is section 0, in its order */
	for (uint32_t i = 0; i < 2; i++) {
		add(&l, i, 3, 10, 5);
		add(&l, i, 0, 0, 100);
	}
	divide(&l, MANY, ROOM);
	assert_int_equal(check(&l, sections), 0);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.touches[0].entry, 3);
	done(&l);
	/* a second list that names nothing here: section 0 is empty */
	add(&l, 0, 1, 10, 5);
	l.lists = 2;
	divide(&l, MANY, ROOM);
	assert_int_equal(check(&l, sections), 1);
	assert_int_equal(l.count, 1);
	done(&l);
	/* nor have these anything in common */
	add(&l, 0, 1, 10, 5);
	add(&l, 1, 1, 15, 5);
	add(&l, 2, 1, 5, 5);
	divide(&l, MANY, ROOM);
	check_sets(&l);
	assert_int_equal(l.touches[0].section, 1);
	assert_int_equal(l.touches[0].offset, 10);
	assert_int_equal(l.count, 3);
	done(&l);
}

static void
room(void **state)
{
	struct lists l = { .count = 0 };

	(void)state;
	add(&l, 0, 0, 0, 100);
	add(&l, 0, 1, 0, 100);
	add(&l, 1, 1, 0, 50);
	divide(&l, MANY, 120);
	assert_int_equal(l.count, 2);
	assert_true(l.touches[0].section == 0 && l.touches[0].length == 50);
	assert_true(l.touches[1].section == 1 && l.touches[1].length == 70);
	assert_int_equal(l.touches[1].entry, 0);
	done(&l);
}

/* What would be too many sections is added where it wastes least. */
static void
merged(void **state)
{
	struct lists l = { .count = 0 };
	uint32_t sections[FILES][SIZE];

	(void)state;
	add(&l, 0, 0, 0, 200);		/* {0} 200 */
	add(&l, 1, 1, 0, 150);		/* {1} 150 */
	add(&l, 2, 2, 0, 100);		/* {2} 100 */
	add(&l, 0, 3, 0, 10);		/* {0, 1} 10 */
	add(&l, 1, 3, 0, 10);
	divide(&l, 3, ROOM);
	assert_int_equal(check(&l, sections), 3);
	/*
	 * in section 0, which is empty, list 2 fetches 10 bytes in vain; with
	 * {0}, list 1 would fetch 200
	 */
	assert_int_equal(sections[3][0], 1);
	assert_int_equal(sections[0][0], 2);
	assert_int_equal(sections[1][0], 3);
	assert_int_equal(sections[2][0], 4);
	done(&l);
	/* {1} of 3 bytes is the smallest of five sets */
	add(&l, 0, 0, 0, 200);
	add(&l, 1, 0, 0, 4);
	add(&l, 1, 1, 0, 3);
	add(&l, 2, 2, 0, 150);
	add(&l, 3, 3, 0, 150);
	divide(&l, 4, ROOM);
	assert_int_equal(check(&l, sections), 4);
	/*
	 * with {0, 1}, which has 4 bytes, list 0 fetches 3 in vain; in section
	 * 0, three lists would
	 */
	assert_int_equal(sections[1][0], sections[0][0]);
	done(&l);
}

/* A small set has no section of its own. */
static void
small(void **state)
{
	struct lists l = { .count = 0 };
	uint32_t sections[FILES][SIZE];

	(void)state;
	add(&l, 0, 0, 0, 200);
	add(&l, 1, 1, 0, 99);
	add(&l, 2, 2, 0, 100);
	assert_int_equal(pack_sections(&l.touches, &l.count, l.lists, MANY,
	    100, ROOM), 0);
	assert_int_equal(check(&l, sections), 2);
	assert_true(sections[0][0] == 2 && sections[2][0] == 3);
	/* in section 0, two lists fetch 99 bytes in vain; with {2}, 199 */
	assert_int_equal(sections[1][0], 1);
	done(&l);
}

/* Any lists, twice: the result is the same. */
static void
any(void **state)
{
	(void)state;
	srand(7);
	for (unsigned round = 0; round < 400; round++) {
		struct lists l = { .count = 0 }, again = { .count = 0 };
		uint32_t sections[FILES][SIZE];
		unsigned lists = round < 300 ? round % 4 + 2 : PACK_LISTS_MAX;
		unsigned all = (unsigned)rand() % 100 + lists;
		size_t most = round < 300 ? MANY : (unsigned)rand() % 5 + 1;

		for (unsigned i = 0; i < all; i++) {
			uint32_t entry = (uint32_t)rand() % FILES;
			uint64_t offset = (uint64_t)rand() % SIZE;
			uint64_t length = (uint64_t)rand() % (SIZE - offset) +
			    1;

			add(&l, i * lists / all, entry, offset, length);
			add(&again, i * lists / all, entry, offset, length);
		}
		divide(&l, most, ROOM);
		divide(&again, most, ROOM);
		assert_int_equal(l.count, again.count);
		for (size_t i = 0; i < l.count; i++) {
			const struct pack_touch *x = &l.touches[i];
			const struct pack_touch *y = &again.touches[i];

			assert_true(x->entry == y->entry && x->at == y->at &&
			    x->section == y->section &&
			    x->offset == y->offset && x->length == y->length);
		}
		assert_true(check(&l, sections) <= most);
		if (round < 300)
			check_sets(&l);
		done(&l);
		done(&again);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),
		cmocka_unit_test(special),
		cmocka_unit_test(room),
		cmocka_unit_test(merged),
		cmocka_unit_test(small),
		cmocka_unit_test(any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
