/*
 * test_units.c - units in memory: correct, fetched once, and bounded
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/vfs/units.h"

#include "layer_made.h"
#include "units_spares.h"

#include "base/hex.h"
#include "engine/digest/digest.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <cmocka.h>

enum { UNITS = 48, SIZE = 40000, THREADS = 8, ROUNDS = 300, FIT = 4 };

struct bench {
	struct made made;
	struct layer_blobs blobs;
	struct vfs_source source;
	struct units *units;
	atomic_int reading, most, reads, forgotten;
	int wrong;			/* reads that give wrong bytes */
};

static uint8_t
byte_of(uint32_t unit, size_t at)
{
	return (uint8_t)((at * 7 + unit * 31) >> (at % 5));
}

static int
read_slowly(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct bench *b = arg;
	int now = atomic_fetch_add(&b->reading, (int)count) + (int)count;
	int rc, most = atomic_load(&b->most);

	(void)phase;
	while (now > most &&
	    !atomic_compare_exchange_weak(&b->most, &most, now))
		;
	sched_yield();
	rc = made_read(&b->made, r, count);
	if (atomic_fetch_add(&b->reads, 1) < b->wrong)
		((uint8_t *)r[0].buf)[r[0].length / 2] ^= 1;
	atomic_fetch_sub(&b->reading, (int)count);
	return rc;
}

static void
forget(void *arg, const struct layer_range *r)
{
	struct bench *b = arg;

	(void)r;
	atomic_fetch_add(&b->forgotten, 1);
}

static const struct vfs_source_ops slow = { .read = read_slowly,
	.forget = forget };

static void
add_file(struct bench *b, struct strbuf *json, uint32_t unit)
{
	uint8_t data[SIZE], sum[DIGEST_MAX];
	char hex[65] = "";

	for (size_t i = 0; i < SIZE; i++)
		data[i] = byte_of(unit, i);
	assert_int_equal(digest_sha256(data, SIZE, sum), 0);
	hex_write(hex, sum, 32);
	strbuf_fmt(json, "%s{\"name\":\"f%u\",\"type\":\"reg\",\"size\":%d,"
	    "\"offset\":%zu,\"digest\":\"sha256:%s\"}", unit == 0 ? "" : ",",
	    unit, SIZE, made_member(&b->made, data, SIZE), hex);
}

/* Opens a layer of UNITS files, of which `limit` bytes fit in memory. */
static void
begin(struct bench *b, uint64_t limit)
{
	struct strbuf json = { .len = 0 };
	char why[LAYER_WHY];
	size_t count;

	*b = (struct bench){ .wrong = 0 };
	strbuf_str(&json, "{\"version\":1,\"entries\":[");
	for (uint32_t i = 0; i < UNITS; i++)
		add_file(b, &json, i);
	strbuf_str(&json, "]}");
	made_end(&b->made, MADE_ESTARGZ, json.data, json.len);
	strbuf_free(&json);
	b->blobs = made_blobs(&b->made);
	b->source = (struct vfs_source){ .ops = &slow, .arg = b };
	assert_int_equal(layer_open(&b->source.layer, &b->blobs, NULL, why),
	    0);
	(void)layer_units(b->source.layer, &count);
	assert_int_equal(count, UNITS);
	assert_int_equal(units_open(&b->units, limit), 0);
}

static void
end(struct bench *b)
{
	units_forget(b->units, &b->source);
	units_close(b->units);
	layer_close(b->source.layer);
	strbuf_free(&b->made.b);
}

static struct unit_id
id_of(struct bench *b, uint32_t unit)
{
	return (struct unit_id){ .source = &b->source, .unit = unit };
}

/* The bytes of the largest unit, decoded and stored */
static uint64_t
cost(struct bench *b)
{
	size_t count;
	const struct layer_unit *u = layer_units(b->source.layer, &count);
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = u[i].content + u[i].stored > most ?
		    u[i].content + u[i].stored : most;
	return most;
}

static bool
is_right(uint32_t unit, const uint8_t *data)
{
	for (size_t i = 0; i < SIZE; i++)
		if (data[i] != byte_of(unit, i))
			return false;
	return true;
}

struct reader {
	struct bench *b;
	unsigned number;
	bool failed;
};

/* Gets one to three units at a time; one thread in four fetches ahead. */
static void *
get_many(void *arg)
{
	struct reader *r = arg;
	struct bench *b = r->b;
	unsigned x = r->number + 1;

	for (int i = 0; i < ROUNDS; i++) {
		struct unit *got[3];
		struct unit_id ids[3];
		size_t n = r->number % 4 == 0 ? 1 : 1 + (size_t)i % 3;

		for (size_t k = 0; k < n; k++) {
			x = x * 1103515245 + 12345;
			ids[k] = id_of(b, x / 65536 % UNITS);
		}
		if (units_get(b->units, ids, n, r->number % 4 == 0 ?
		    HTTP_PREFETCH : HTTP_READ, got) != 0) {
			r->failed = true;
			return NULL;
		}
		for (size_t k = 0; k < n; k++) {
			r->failed |= !is_right(ids[k].unit,
			    unit_data(got[k]));
			units_release(b->units, got[k]);
		}
	}
	return NULL;
}

static void
bounded(void **state)
{
	struct bench b;
	struct reader readers[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	begin(&b, 0);
	units_close(b.units);
	assert_int_equal(units_open(&b.units, FIT * cost(&b)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ .b = &b, .number = i };
		assert_int_equal(pthread_create(&threads[i], NULL, get_many,
		    &readers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_false(readers[i].failed);
	}
	assert_true(b.most >= 1 && b.most <= FIT);
	end(&b);
}

/*
 * A unit that alone exceeds the limit is fetched when nothing else is in use.
 */
static void
too_large(void **state)
{
	struct unit *got[UNITS];
	struct unit_id ids[UNITS];
	struct bench b;

	(void)state;
	begin(&b, 1);
	for (uint32_t i = 0; i < UNITS; i++)
		ids[i] = id_of(&b, i);
	assert_int_equal(units_get(b.units, ids, UNITS, HTTP_READ, got), 0);
	for (uint32_t i = 0; i < UNITS; i++) {
		assert_true(is_right(i, unit_data(got[i])));
		units_release(b.units, got[i]);
	}
	/* and nothing is kept */
	for (uint32_t i = 0; i < UNITS; i++)
		assert_false(units_has(b.units, ids[i]));
	end(&b);
}

static void
kept(void **state)
{
	struct unit *got, *again;
	struct unit_id id;
	uint8_t buf[100];
	uint64_t serial;
	struct bench b;

	(void)state;
	begin(&b, 10 * SIZE);
	id = id_of(&b, 5);
	assert_false(units_copy(b.units, id, 0, 1, buf));
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), 0);
	serial = unit_serial(got);
	units_release(b.units, got);
	assert_true(units_copy(b.units, id, 333, sizeof(buf), buf));
	for (size_t i = 0; i < sizeof(buf); i++)
		assert_int_equal(buf[i], byte_of(5, 333 + i));
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &again), 0);
	assert_true(unit_serial(again) == serial);
	assert_int_equal(b.reads, 1);
	units_release(b.units, again);
	units_forget(b.units, &b.source);
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &again), 0);
	assert_true(unit_serial(again) != serial);
	units_release(b.units, again);
	end(&b);
}

/* Wrong bytes are discarded and fetched again, a few times. */
static void
wrong(void **state)
{
	struct units_counts counts;
	struct unit_id id;
	struct unit *got;
	struct bench b;

	(void)state;
	begin(&b, 10 * SIZE);
	id = id_of(&b, 1);
	b.wrong = UNITS_TRIES - 1;
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), 0);
	assert_true(is_right(1, unit_data(got)));
	units_release(b.units, got);
	assert_int_equal(b.forgotten, UNITS_TRIES - 1);
	b.wrong = b.reads + UNITS_TRIES;
	id.unit = 2;
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), -EIO);
	assert_false(units_has(b.units, id));
	units_counted(b.units, &counts);
	assert_int_equal(counts.failed, 1);
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), 0);
	units_release(b.units, got);
	end(&b);
}

/* A digest is computed once, but changed bytes are still detected. */
static void
recognized(void **state)
{
	struct units_counts counts;
	struct unit_id id;
	struct unit *got;
	struct bench b;

	(void)state;
	/* nothing stays in memory */
	begin(&b, 1);
	id = id_of(&b, 7);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got),
		    0);
		assert_true(is_right(7, unit_data(got)));
		units_release(b.units, got);
	}
	units_counted(b.units, &counts);
	assert_int_equal(counts.decoded, 3);
	assert_int_equal(counts.recognized, 2);
	b.wrong = b.reads + 1;
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), 0);
	assert_true(is_right(7, unit_data(got)));
	units_release(b.units, got);
	units_counted(b.units, &counts);
	assert_int_equal(counts.wrong, 1);
	assert_int_equal(b.forgotten, 1);
	assert_int_equal(counts.recognized, 3);
	/* another unit's bytes are not this one's */
	id.unit = 8;
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), 0);
	units_release(b.units, got);
	units_forget(b.units, &b.source);
	id.unit = 7;
	assert_int_equal(units_get(b.units, &id, 1, HTTP_READ, &got), 0);
	units_release(b.units, got);
	units_counted(b.units, &counts);
	assert_int_equal(counts.recognized, 3);
	end(&b);
}

/* A large buffer is reused, but not for units that need much less. */
static void
spares(void **state)
{
	enum { LARGE = 3 << 20, LIMIT = 7 << 20 };
	struct units_spare a, b, c;
	struct units_spares *s;
	uint8_t *first;

	(void)state;
	assert_int_equal(units_spares_open(&s, LIMIT), 0);
	assert_int_equal(units_spares_take(s, LARGE, &a), 0);
	assert_true(a.room >= LARGE);
	first = a.data;
	units_spares_give(s, &a);
	assert_int_equal(units_spares_take(s, LARGE / 4, &b), 0);
	assert_ptr_not_equal(b.data, first);
	assert_int_equal(units_spares_take(s, LARGE - 5000, &a), 0);
	assert_ptr_equal(a.data, first);
	assert_int_equal(units_spares_take(s, LARGE, &c), 0);
	assert_ptr_not_equal(c.data, first);
	/* the limit applies to kept units, not to those in use */
	units_spares_give(s, &a);
	units_spares_give(s, &b);
	units_spares_give(s, &c);
	assert_int_equal(units_spares_take(s, LARGE, &a), 0);
	assert_ptr_equal(a.data, c.data);
	units_spares_give(s, &a);
	a = (struct units_spare){ .data = NULL };
	units_spares_give(s, &a);
	units_spares_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounded),
		cmocka_unit_test(too_large),
		cmocka_unit_test(kept),
		cmocka_unit_test(wrong),
		cmocka_unit_test(recognized),
		cmocka_unit_test(spares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
