/*
 * test_vfs_trace.c - the data touched at startup, and the stream it comes by
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "vfs_made.h"

#include "vfs_private.h"

enum { SIZE = 3 * CHUNK };

/*
 * Makes a layer of three files, of which the first two are in the trace.  The
 * pieces of the first overlap; there is a gap of 100 bytes, and a long one.
 */
static void
make(struct fake *f, unsigned file, bool damaged)
{
	const struct fake_piece p[] = {
		{ .entry = 1, .offset = 0, .length = 1000, .file = file + 1 },
		{ .entry = 0, .offset = 2 * CHUNK, .length = CHUNK,
			.file = file },
		{ .entry = 0, .offset = 500, .length = 1500, .file = file },
		{ .entry = 0, .offset = 0, .length = 1000, .file = file },
		{ .entry = 0, .offset = 100, .length = 50, .file = file },
		{ .entry = 0, .offset = 2100, .length = 100, .file = file },
	};

	memset(f, 0, sizeof(*f));
	fake_file(f, "one", file, SIZE);
	fake_file(f, "two", file + 1, 1000);
	fake_file(f, "three", file + 2, 1000);
	fake_trace(f, p, sizeof(p) / sizeof(*p), damaged);
	fake_end(f);
}

static uint32_t
inode_of(struct fake_vfs *w, const char *path)
{
	return (uint32_t)vfs_find(w, path);
}

static void
reads(void **state)
{
	struct vfs_counts c;
	struct fake_vfs w;
	struct vfs_read r;
	struct fake f;

	(void)state;
	make(&f, 1, false);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_int_equal(f.trace_reads, 1);
	assert_int_equal(vfs_read_at(&w, &r, "one", 100, 1800), 1800);
	assert_true(r.traced && r.unit == NULL);
	assert_true(fake_is(1, 100, r.data, 1800));
	assert_false(vfs_read_ahead(&r));
	vfs_read_end(&r);
	assert_true(vfs_gives(&w, "two", 0, 5000, 2, 1000));
	assert_true(vfs_gives(&w, "one", 2 * CHUNK + 1, 2 * CHUNK, 1, CHUNK -
	    1));
	assert_int_equal(f.reads[HTTP_READ], 0);
	vfs_counted(w.v, &c);
	assert_int_equal(c.trace_bytes, 1800 + 1000 + CHUNK - 1);
	assert_int_equal(c.reads, 3);
	assert_int_equal(c.units.decoded, 0);
	/* what is there only in part is read from units */
	assert_int_equal(vfs_read_at(&w, &r, "one", 1999, 2), 2);
	assert_true(!r.traced && fake_is(1, 1999, r.data, 2));
	vfs_read_end(&r);
	assert_int_equal(vfs_read_at(&w, &r, "one", 1900, 250), 250);
	assert_true(!r.traced && fake_is(1, 1900, r.data, 250));
	vfs_read_end(&r);
	assert_true(vfs_gives(&w, "one", CHUNK, SIZE, 1, 2 * CHUNK));
	assert_true(vfs_gives(&w, "three", 0, 1000, 3, 1000));
	assert_int_equal(f.reads[HTTP_READ], 3);
	assert_true(vfs_gives(&w, "one", SIZE, 10, 1, 0));
	assert_string_equal(w.said, "");
	vfs_end(&w);
	fake_free(&f);
}

/* Copies begin at what is there, and end at a gap. */
static void
copies(void **state)
{
	uint8_t *buf = malloc(SIZE);
	struct fake_vfs w;
	struct fake f;
	uint64_t at = 0;

	(void)state;
	make(&f, 1, false);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 2000);
	assert_int_equal(at, 0);
	assert_true(fake_is(1, 0, buf, 2000));
	at = 900;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, 200,
	    buf), 200);
	assert_true(at == 900 && fake_is(1, 900, buf, 200));
	at = 2000;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 100);
	assert_true(at == 2100 && fake_is(1, 2100, buf, 100));
	at = 2200;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), CHUNK);
	assert_int_equal(at, 2 * CHUNK);
	assert_true(fake_is(1, 2 * CHUNK, buf, CHUNK));
	at = SIZE;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 0);
	at = 0;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "three"), &at,
	    SIZE, buf), 0);
	vfs_end(&w);
	fake_free(&f);
	free(buf);
}

/* The pieces of a layer are not those of another one. */
static void
layers(void **state)
{
	struct fake_vfs w;
	struct fake f[3];
	struct vfs_read r;

	(void)state;
	make(&f[0], 1, false);
	memset(&f[1], 0, sizeof(f[1]));
	fake_file(&f[1], "three", 7, 1000);
	fake_file(&f[1], "one", 8, SIZE);
	fake_end(&f[1]);
	memset(&f[2], 0, sizeof(f[2]));
	fake_file(&f[2], "four", 9, 1000);
	fake_trace(&f[2], &(struct fake_piece){ .length = 1000, .file = 9 }, 1,
	    false);
	fake_end(&f[2]);
	vfs_prepare(&w);
	vfs_begin(&w, f, 3, MERGE_MERGED);
	assert_int_equal(vfs_read_at(&w, &r, "four", 0, 1000), 1000);
	assert_true(r.traced && fake_is(9, 0, r.data, 1000));
	vfs_read_end(&r);
	assert_int_equal(vfs_read_at(&w, &r, "two", 0, 1000), 1000);
	assert_true(r.traced && fake_is(2, 0, r.data, 1000));
	vfs_read_end(&r);
	/* its data is another layer's */
	assert_int_equal(vfs_read_at(&w, &r, "one", 0, 1000), 1000);
	assert_true(!r.traced && fake_is(8, 0, r.data, 1000));
	vfs_read_end(&r);
	vfs_end(&w);
	for (int i = 0; i < 3; i++)
		fake_free(&f[i]);
}

/* A trace that is wrong is reported, forgotten, and not used. */
static void
damaged(void **state)
{
	struct fake_vfs w;
	struct fake f[2];
	struct vfs_read r;

	(void)state;
	make(&f[0], 1, true);
	memset(&f[1], 0, sizeof(f[1]));
	fake_file(&f[1], "four", 9, 1000);
	fake_trace(&f[1], &(struct fake_piece){ .length = 1000, .file = 9 }, 1,
	    false);
	fake_end(&f[1]);
	vfs_prepare(&w);
	vfs_begin(&w, f, 2, MERGE_MERGED);
	assert_string_equal(w.said, "layer0: ignoring the trace: "
	    "Bad message\n");
	assert_int_equal(f[0].forgotten, 1);
	assert_int_equal(vfs_read_at(&w, &r, "one", 0, 1000), 1000);
	assert_true(!r.traced && fake_is(1, 0, r.data, 1000));
	vfs_read_end(&r);
	assert_int_equal(vfs_read_at(&w, &r, "four", 0, 1000), 1000);
	assert_true(r.traced);
	vfs_read_end(&r);
	vfs_end(&w);
	for (int i = 0; i < 2; i++)
		fake_free(&f[i]);
}

/* Nor is one that cannot be read, or that nobody wants. */
static void
unread(void **state)
{
	struct fake_vfs w;
	struct fake f;

	(void)state;
	make(&f, 1, false);
	f.fails = -EACCES;
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_null(w.s.trace);
	assert_string_equal(w.said, "layer0: ignoring the trace: "
	    "Permission denied\n");
	assert_int_equal(f.forgotten, 0);
	f.fails = 0;
	assert_true(vfs_gives(&w, "one", 0, SIZE, 1, SIZE));
	vfs_end(&w);

	f.trace_reads = 0;
	vfs_prepare(&w);
	w.o.prefetch = VFS_PREFETCH_NONE;
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_null(w.s.trace);
	assert_int_equal(f.trace_reads, 0);
	vfs_end(&w);
	fake_free(&f);
}

/* Sections */

/*
 * Makes a layer of four files, of which two lists name parts: `one` has 1000
 * bytes of the trace, 1000 of section 1, 1000 of neither, and 1000 of section
 * 2; `two` is section 1, `three` section 2, and `four` in none.
 */
static void
make_sections(struct fake *f, unsigned spoilt)
{
	static const struct fake_piece p[] = {
		{ .entry = 0, .offset = 0, .length = 1000, .file = 1 },
		{ .entry = 1, .length = 1000, .file = 2, .section = 1 },
		{ .entry = 0, .offset = 1000, .length = 1000, .file = 1,
			.section = 1 },
		{ .entry = 0, .offset = 3000, .length = 1000, .file = 1,
			.section = 2 },
		{ .entry = 2, .length = SIZE, .file = 3, .section = 2 },
	};

	memset(f, 0, sizeof(*f));
	f->spoilt = spoilt;
	fake_file(f, "one", 1, 4000);
	fake_file(f, "two", 2, 1000);
	fake_file(f, "three", 3, SIZE);
	fake_file(f, "four", 4, 1000);
	fake_trace(f, p, sizeof(p) / sizeof(*p), false);
	fake_end(f);
}

/* Returns whether a read has the right bytes, and comes from the trace. */
static bool
traced(struct fake_vfs *w, const char *path, uint64_t offset, size_t size,
    unsigned file)
{
	struct vfs_read r;
	bool is = vfs_read_at(w, &r, path, offset, size) == (ssize_t)size &&
	    r.traced;

	assert_true(fake_is(file, offset, r.data, size));
	vfs_read_end(&r);
	return is;
}

/* A section is fetched when a read can be answered from it. */
static void
sections(void **state)
{
	uint8_t *buf = malloc(SIZE);
	struct vfs_counts c;
	struct fake_vfs w;
	struct fake f;
	uint64_t at = 0;

	(void)state;
	make_sections(&f, 0);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_int_equal(f.trace_reads, 1);
	assert_true(traced(&w, "one", 0, 1000, 1));
	assert_int_equal(vfs_traced_sections(&w.s), 0);
	/* copies and other reads do not fetch one */
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 1000);
	at = 1000;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 0);
	assert_false(traced(&w, "four", 0, 1000, 4));
	assert_false(traced(&w, "one", 500, 1600, 1));
	assert_false(traced(&w, "one", 2999, 1000, 1));
	assert_int_equal(f.sections[1].reads + f.sections[2].reads, 0);
	/* one that the trace and a section answer */
	assert_true(traced(&w, "one", 900, 200, 1));
	assert_int_equal(f.sections[1].reads, 1);
	assert_int_equal(vfs_traced_sections(&w.s), 1);
	assert_true(traced(&w, "two", 10, 900, 2));
	assert_int_equal(f.sections[1].reads, 1);
	at = 500;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 1500);
	assert_true(at == 500 && fake_is(1, 500, buf, 1500));
	at = 2000;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 0);
	assert_int_equal(f.sections[2].reads, 0);
	assert_true(traced(&w, "three", 0, SIZE, 3));
	assert_true(traced(&w, "one", 3000, 1000, 1));
	assert_int_equal(f.sections[2].reads, 1);
	at = 2000;
	assert_int_equal(vfs_copy_traced(&w.s, inode_of(&w, "one"), &at, SIZE,
	    buf), 1000);
	assert_true(at == 3000 && fake_is(1, 3000, buf, 1000));
	assert_int_equal(vfs_traced_sections(&w.s), 2);
	vfs_counted(w.v, &c);
	assert_int_equal(c.trace_bytes, 1000 + 200 + 900 + SIZE + 1000);
	assert_int_equal(f.reads[HTTP_PREFETCH], 3);
	assert_string_equal(w.said, "");
	vfs_end(&w);

	/* nobody wants any */
	vfs_prepare(&w);
	w.o.prefetch = VFS_PREFETCH_NONE;
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_false(traced(&w, "two", 0, 1000, 2));
	assert_int_equal(f.reads[HTTP_PREFETCH], 3);
	vfs_end(&w);
	fake_free(&f);
	free(buf);
}

/*
 * Some reads of a section may be by chance: of a file of which something is
 * there.  One is allowed for each 32 KiB of the section.
 */
static void
by_chance(unsigned padding, int allowed)
{
	static const struct fake_piece p[] = {
		{ .entry = 0, .length = 1000, .file = 1 },
		{ .entry = 0, .offset = 2000, .length = 1000, .file = 1,
			.section = 1 },
		{ .entry = 1, .length = 100000, .file = 2, .section = 1 },
	};
	struct fake_vfs w;
	struct fake f;

	memset(&f, 0, sizeof(f));
	f.padding = padding;
	fake_file(&f, "one", 1, 3000);
	fake_file(&f, "two", 2, 100000);
	fake_trace(&f, p, 3, false);
	fake_end(&f);
	for (int chances = 0; chances <= allowed; chances += allowed / 2) {
		f.sections[1].reads = 0;
		vfs_prepare(&w);
		vfs_begin(&w, &f, 1, MERGE_MERGED);
		for (int i = 0; i < chances; i++)
			assert_false(traced(&w, "one", 2000, 1000, 1));
		assert_int_equal(f.sections[1].reads, 0);
		if (chances < allowed)
			assert_true(traced(&w, "two", 0, 1000, 2));
		assert_true(traced(&w, "one", 2000, 1000, 1));
		assert_int_equal(f.sections[1].reads, 1);
		vfs_end(&w);
	}
	fake_free(&f);
}

static void
chances(void **state)
{
	(void)state;
	by_chance(64 << 10, 2);
	by_chance(1 << 20, 32);
	by_chance(5 << 18, 32);
}

/* Nor is a section loaded for the first small files. */
static void
small_files(void **state)
{
	static const struct fake_piece p[] = {
		{ .entry = 2, .length = 100, .file = 3 },
		{ .entry = 0, .length = 100, .file = 1, .section = 1 },
		{ .entry = 1, .length = 90000, .file = 2, .section = 1 },
	};
	struct fake_vfs w;
	struct fake f;

	(void)state;
	memset(&f, 0, sizeof(f));
	fake_file(&f, "one", 1, 100);
	fake_file(&f, "two", 2, 90000);
	fake_file(&f, "three", 3, 100);
	fake_trace(&f, p, 3, false);
	fake_end(&f);
	for (int small = 0; small <= 3; small++) {
		f.sections[1].reads = 0;
		vfs_prepare(&w);
		vfs_begin(&w, &f, 1, MERGE_MERGED);
		for (int i = 0; i < small; i++)
			assert_false(traced(&w, "one", 0, 100, 1));
		assert_int_equal(f.sections[1].reads, 0);
		if (small < 3)
			assert_true(traced(&w, "two", 0, 1000, 2));
		assert_true(traced(&w, "one", 0, 100, 1));
		assert_true(f.sections[1].reads > 0);
		vfs_end(&w);
	}
	fake_free(&f);
}

/* A section that is wrong or unreadable is reported once, and not used. */
static void
wrong_sections(void **state)
{
	struct fake_vfs w;
	struct fake f;

	(void)state;
	make_sections(&f, 1);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	assert_string_equal(w.said, "");
	for (int i = 0; i < 3; i++)
		assert_false(traced(&w, "two", 0, 1000, 2));
	assert_false(traced(&w, "one", 0, 2000, 1));
	assert_string_equal(w.said, "layer0: ignoring a section of the trace: "
	    "Bad message\n");
	assert_int_equal(f.sections[1].reads, 1);
	assert_int_equal(f.forgotten, 1);
	assert_int_equal(vfs_traced_sections(&w.s), 0);
	/* the others are */
	assert_true(traced(&w, "one", 0, 1000, 1));
	f.section_fails = 2;
	assert_false(traced(&w, "three", 0, SIZE, 3));
	f.section_fails = 0;
	assert_false(traced(&w, "three", 0, SIZE, 3));
	assert_non_null(strstr(w.said, "Protocol error\n"));
	assert_int_equal(f.forgotten, 1);
	vfs_end(&w);
	fake_free(&f);
}

/* The sections of a trace with a wrong digest are unknown. */
static void
wrong_head(void **state)
{
	struct fake_vfs w;
	struct fake f[2];

	(void)state;
	memset(&f[0], 0, sizeof(f[0]));
	fake_file(&f[0], "two", 2, 1000);
	fake_trace(&f[0], &(struct fake_piece){ .length = 1000, .file = 2,
		.section = 1 }, 1, true);
	fake_end(&f[0]);
	make_sections(&f[1], 0);
	vfs_prepare(&w);
	vfs_begin(&w, f, 2, MERGE_MERGED);
	assert_string_equal(w.said, "layer0: ignoring the trace: "
	    "Bad message\n");
	assert_true(traced(&w, "two", 0, 1000, 2));
	assert_int_equal(f[0].sections[1].reads, 0);
	assert_int_equal(f[1].sections[1].reads, 1);
	vfs_end(&w);
	for (int i = 0; i < 2; i++)
		fake_free(&f[i]);
}

/* Readers of a section wait for the same load; others do not wait. */

enum { READERS = 8 };

struct waiter {
	struct fake_vfs *w;
	const char *path;
	unsigned file;
	size_t size;
	bool traced;
	_Atomic bool done;
	pthread_t thread;
};

static void *
read_once(void *arg)
{
	struct waiter *r = arg;

	r->traced = traced(r->w, r->path, 0, r->size, r->file);
	r->done = true;
	return NULL;
}

static void
wait_for(bool wrong)
{
	struct waiter r[READERS];
	struct fake_vfs w;
	struct fake f;

	make_sections(&f, wrong ? 2 : 0);
	vfs_prepare(&w);
	vfs_begin(&w, &f, 1, MERGE_MERGED);
	f.waits = 1;
	for (unsigned i = 0; i < READERS; i++) {
		r[i] = (struct waiter){ .w = &w, .path = i % 4 == 3 ? "two" :
			"three", .file = i % 4 == 3 ? 2 : 3,
			.size = i % 4 == 3 ? 1000 : SIZE };
		assert_int_equal(pthread_create(&r[i].thread, NULL, read_once,
		    &r[i]), 0);
	}
	while (f.sections[1].reads == 0 || f.sections[2].reads == 0)
		usleep(1000);
	assert_true(traced(&w, "one", 0, 1000, 1));
	assert_false(traced(&w, "four", 0, 1000, 4));
	for (unsigned i = 0; i < READERS; i++)
		assert_false(r[i].done);
	f.waits = 0;
	for (unsigned i = 0; i < READERS; i++) {
		pthread_join(r[i].thread, NULL);
		assert_int_equal(r[i].traced, !wrong || i % 4 == 3);
	}
	assert_int_equal(f.sections[1].reads, 1);
	assert_int_equal(f.sections[2].reads, 1);
	assert_string_equal(w.said, !wrong ? "" : "layer0: ignoring a section "
	    "of the trace: Bad message\n");
	vfs_end(&w);
	fake_free(&f);
}

static void
concurrent(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		wait_for(false);
		wait_for(true);
	}
}

/* The stream: bytes in order, however many parts there are, and its errors */

enum { PART = 2 << 20, LONG = 9 * PART + 4321 };

struct tape {
	_Atomic unsigned parts, forgotten;
	unsigned bad;			/* part that cannot be read, from 1 */
};

static int
read_tape(void *arg, const struct layer_range *r, size_t count,
    enum http_phase phase)
{
	struct tape *t = arg;

	assert_int_equal(count, 1);
	assert_int_equal(phase, HTTP_PREFETCH);
	t->parts++;
	if (t->bad > 0 && r->offset - 100 >= (uint64_t)(t->bad - 1) * PART)
		return -EPROTO;
	for (uint64_t i = 0; i < r->length; i++)
		((uint8_t *)r->buf)[i] = fake_byte(3, r->offset + i);
	return 0;
}

static void
forget_tape(void *arg, const struct layer_range *r)
{
	struct tape *t = arg;

	assert_true(r->length <= PART);
	t->forgotten++;
}

static const struct vfs_source_ops tape_ops = { .read = read_tape,
	.forget = forget_tape };

static void
stream(void **state)
{
	const struct layer_range all = { .offset = 100, .length = LONG };
	struct tape t = { .parts = 0 };
	struct vfs_source s = { .ops = &tape_ops, .arg = &t };
	struct vfs_stream *st;
	const uint8_t *data;
	uint64_t at = 100;
	ssize_t n;

	(void)state;
	assert_int_equal(vfs_stream_open(&st, &s, &all), 0);
	while ((n = vfs_stream_next(st, &data)) > 0) {
		assert_true(fake_is(3, at, data, (size_t)n));
		at += (uint64_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(at, 100 + LONG);
	assert_int_equal(t.parts, 10);
	vfs_stream_close(st, true);
	assert_int_equal(t.forgotten, 10);

	/* what comes before an error is given first */
	t = (struct tape){ .bad = 5 };
	assert_int_equal(vfs_stream_open(&st, &s, &all), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(vfs_stream_next(st, &data), PART);
	assert_int_equal(vfs_stream_next(st, &data), -EPROTO);
	vfs_stream_close(st, false);
	assert_int_equal(t.forgotten, 0);

	/* closed before its end */
	t = (struct tape){ .bad = 0 };
	assert_int_equal(vfs_stream_open(&st, &s, &all), 0);
	assert_int_equal(vfs_stream_next(st, &data), PART);
	vfs_stream_close(st, false);
	assert_true(t.parts <= 4);

	/* of one part */
	t = (struct tape){ .bad = 0 };
	assert_int_equal(vfs_stream_open(&st, &s, &(struct layer_range){
	    .offset = 100, .length = 5 }), 0);
	assert_int_equal(vfs_stream_next(st, &data), 5);
	assert_int_equal(vfs_stream_next(st, &data), 0);
	vfs_stream_close(st, false);
	assert_int_equal(t.parts, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads),
		cmocka_unit_test(copies),
		cmocka_unit_test(layers),
		cmocka_unit_test(damaged),
		cmocka_unit_test(unread),
		cmocka_unit_test(sections),
		cmocka_unit_test(chances),
		cmocka_unit_test(small_files),
		cmocka_unit_test(wrong_sections),
		cmocka_unit_test(wrong_head),
		cmocka_unit_test(concurrent),
		cmocka_unit_test(stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
