/*
 * test_refused.c - conversions, listings and ranges whose calls are refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: test_refused FORMAT
 *
 * Each allocation and read of a run fails in turn, and so does each call of a
 * library that needs memory.  The run must report that, or give the right bytes,
 * and free what it has.
 */
#include "refused.h"

#include "base/bytes.h"
#include "format/codec.h"
#include "format/convert.h"
#include "format/seek.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLAIN = 80000, BLOCK = 32 << 10, MOST = 1 << 20 };

/* Bytes that a run read or made. */
struct bytes {
	size_t len;
	uint8_t p[MOST];
};

static struct bytes plain, packed, again, got;

/* The threads of a run, and how many of its calls of a kind fail. */
static unsigned threads;
static unsigned long turns;

/* Units in the last map. */
static size_t units;

/* The format of this run. */
static const char *only;

/* One way to compress, and what it is given. */
struct way {
	const char *codec;
	int level;
	const char *key, *text;	/* a setting, or NULL */
	uint64_t number;
	bool independent, rsyncable;
	bool whole;		/* no size of a block is set */
	bool unmapped;		/* a range is decoded from the start */
};

#define WAY(name, ...) { .codec = name, .level = __VA_ARGS__ }
#define KEY(name, value) .key = name, .number = value
#define TEXT(name, value) .key = name, .text = value, \
	.number = sizeof(value) - 1

static const struct way ways[] = {
	WAY("gzip", 0), WAY("gzip", 2), WAY("gzip", 6), WAY("gzip", 9),
	WAY("gzip", 11), WAY("gzip", 6, .independent = true),
	WAY("gzip", 6, .rsyncable = true, .unmapped = true),
	WAY("gzip", 6, KEY("huffman", 1)), WAY("gzip", 6, KEY("rle", 1)),
	WAY("zlib", 6), WAY("zip", 6),
	WAY("zstd", 1, .unmapped = true),
	WAY("zstd", 15, .unmapped = true), WAY("zstd", 3, KEY("seekable", 1)),
	WAY("zstd", 3, .independent = true),
	WAY("zstd", 3, TEXT("dictionary", "a wordier")),
	WAY("zstd", 3, TEXT("patch-from", "a wordier")),
	WAY("zstd", 3, TEXT("parameters", "wlog=18,strat=4")),
	WAY("zstd", 3, KEY("target-block", 1500), .unmapped = true),
	WAY("lz4", 1), WAY("lz4", 9), WAY("lz4", 1, .independent = true),
	WAY("lz4", 1, KEY("block-check", 1)),
	WAY("lz4", 1, KEY("legacy", 1), .whole = true, .unmapped = true),
	WAY("lz4", 1, TEXT("dictionary", "a wordier")),
	WAY("lz4", 9, TEXT("dictionary", "a wordier")),
	WAY("bzip2", 1, .whole = true),
	WAY("bzip2", 1, .independent = true, .whole = true),
	WAY("xz", 0), WAY("xz", 3), WAY("xz", 5),
	WAY("xz", 0, .independent = true),
	WAY("xz", 0, TEXT("check", "sha256")),
	WAY("xz", 0, TEXT("filters", "delta:dist=4 lzma2:preset=0")),
	WAY("xz", 0, KEY("single-thread", 1), .whole = true),
	WAY("xz", 0, TEXT("encoder", "liblzma")), WAY("lzma", 0, .whole = true),
};

/* Text, noise and runs. */
static void
make_plain(void)
{
	uint32_t x = 1;

	plain.len = PLAIN;
	for (size_t i = 0; i < PLAIN; i++) {
		x = x * 1664525 + 1013904223;
		plain.p[i] = i >> 12 & 1 ? (uint8_t)
		    "a wordier text"[(x >> 24) % 14] : i >> 13 & 1 ? 'r' :
		    (uint8_t)(x >> 24);
	}
}

static int
file_of(const struct bytes *b)
{
	int fd = memfd_create("refused", MFD_CLOEXEC);

	assert_int_equal(write(fd, b->p, b->len), (ssize_t)b->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int
take(void *arg, const uint8_t *data, size_t len)
{
	struct bytes *to = arg;

	if (len > sizeof(to->p) - to->len)
		return -EFBIG;
	memcpy(to->p + to->len, data, len);
	to->len += len;
	return 0;
}

static void
set_options(struct convert *c, const struct way *w)
{
	c->codec = codec_by_name(w->codec);
	assert_non_null(c->codec);
	c->options = (struct codec_options){ .level = w->level,
	    .threads = threads, .flush_ms = -1, .window_max = 8 << 20,
	    .independent = w->independent, .rsyncable = w->rsyncable,
	    .block = w->whole ? 0 : BLOCK };
	if (w->key != NULL)
		assert_int_equal(codec_set(&c->options, w->key, w->number,
		    w->text), 0);
}

/* Runs `from` through the coder; the bytes are in `got`. */
static int
convert(const struct way *w, bool decompress, const struct bytes *from)
{
	struct convert c = { .decompress = decompress, .write = take,
	    .write_arg = &got };
	struct convert_result r;
	struct input in;
	int fd = file_of(from), rc;

	got.len = 0;
	set_options(&c, w);
	if (decompress)
		c.options.block = 0;
	/* small enough to decode some pieces from the middle */
	if (decompress && strcmp(w->codec, "gzip") == 0)
		assert_int_equal(codec_set(&c.options, "piece", 1024, NULL),
		    0);
	rc = input_open(&in, fd);
	if (rc == 0)
		rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	close(fd);
	return rc;
}

static int
encode(const struct way *w)
{
	return convert(w, false, &plain);
}

static int
decode(const struct way *w)
{
	return convert(w, true, &packed);
}

/* The listing's size and frames are what it gives. */
static int
list(const struct way *w)
{
	const struct codec *codec = codec_by_name(w->codec);
	struct codec_listing l = { .size = 0 };
	int fd = file_of(&packed), rc = codec->list(fd, packed.len, &l);

	got.len = 16;
	store_le64(got.p, l.size);
	store_le64(got.p + 8, l.frames);
	close(fd);
	return rc;
}

/* A range in the middle. */
static int
range(const struct way *w)
{
	struct seek_range r = { .from = PLAIN / 2, .len = 3000 };
	struct seek_need need = SEEK_NEED_NONE;
	struct convert c = { .decompress = true };
	struct seek_result result;
	struct seek_map m;
	int fd = file_of(&packed), out = memfd_create("range", MFD_CLOEXEC);
	int rc;

	set_options(&c, w);
	c.options.block = 0;
	seek_need_range(&need, &r);
	rc = seek_map_open(&m, c.codec, fd, packed.len, &need);
	if (rc == 0) {
		units = m.count;
		rc = seek_read(&m, &c, &r, false, out, &result);
		seek_map_close(&m);
	}
	got.len = (size_t)lseek(out, 0, SEEK_END);
	assert_int_equal(pread(out, got.p, got.len, 0), (ssize_t)got.len);
	close(out);
	close(fd);
	return rc;
}

/* A gzip file's side index, and a range with it. */
static int
indexed(const struct way *w)
{
	struct seek_range r = { .from = PLAIN / 2, .len = 3000 };
	struct convert c = { .decompress = true };
	struct seek_result result;
	struct seek_map m;
	int fd = file_of(&packed), out = memfd_create("range", MFD_CLOEXEC);
	int index = memfd_create("index", MFD_CLOEXEC), rc;

	set_options(&c, w);
	c.options.block = 0;
	rc = seek_index_make(&c, fd, packed.len, 3000, index);
	if (rc == 0)
		rc = seek_map_index(&m, c.codec, fd, packed.len, index);
	if (rc == 0) {
		rc = seek_read(&m, &c, &r, false, out, &result);
		seek_map_close(&m);
	}
	got.len = (size_t)lseek(out, 0, SEEK_END);
	assert_int_equal(pread(out, got.p, got.len, 0), (ssize_t)got.len);
	close(index);
	close(out);
	close(fd);
	return rc;
}

static const struct refusal refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", -ENOMEM, false },
	{ FAULT_MALLOC, "+:ENOMEM", -ENOMEM, false },
	{ FAULT_LIBRARY, ":ENOMEM", 0, false },
	{ FAULT_THREAD, ":EAGAIN", -EAGAIN, false },
	{ FAULT_READ, ":EIO", -EIO, false },
	{ FAULT_READ, ":short", -EIO, false },
	{ FAULT_PREAD, ":EIO", -EIO, true },
	{ FAULT_PREAD, ":short", -EIO, false },
};

/* Each call is refused in turn, or that call and all later ones. */
static void
suffers(const struct way *w, int (*run)(const struct way *w))
{
	char name[80];
	struct refused f = { .name = name, .refusals = refusals,
		.turns = turns, .refusal_count = sizeof(refusals) /
		sizeof(refusals[0]) };
	int rc;

	assert_true(fault_plan(""));
	snprintf(name, sizeof(name), "%s -%d %s", w->codec, w->level,
	    w->key != NULL ? w->key : "");
	rc = run(w);
	if (rc != 0)
		fail_msg("%s: %d", name, rc);
	refused_count(&f);
	again = got;
	while (refused_next(&f)) {
		const struct refusal *r = f.refusal;

		rc = run(w);
		refused_end(&f);
		if (rc == 0 && (got.len != again.len ||
		    memcmp(got.p, again.p, got.len) != 0))
			fail_msg("%s, %s: other bytes", name, f.call);
		/* a map that could not be read is not taken for none */
		if (rc > 0 || (rc == 0 && r->always) ||
		    (rc != 0 && r->want != 0 && rc != r->want))
			fail_msg("%s, %s: %d", name, f.call, rc);
	}
}

static void
try_way(const struct way *w, unsigned with, unsigned long most)
{
	const struct codec *codec = codec_by_name(w->codec);

	threads = with;
	turns = most;
	suffers(w, encode);
	packed = again;
	suffers(w, decode);
	assert_int_equal(again.len, plain.len);
	assert_memory_equal(again.p, plain.p, plain.len);
	if (codec->list != NULL)
		suffers(w, list);
	if (codec->seek == NULL || w->text != NULL)
		return;
	suffers(w, range);
	assert_int_equal(units == 0, w->unmapped);
	assert_memory_equal(again.p, plain.p + PLAIN / 2, 3000);
	if (strcmp(w->codec, "gzip") != 0 || w->level != 2)
		return;
	suffers(w, indexed);
	assert_memory_equal(again.p, plain.p + PLAIN / 2, 3000);
}

static void
one_thread(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].codec, only) == 0)
			try_way(&ways[i], 1, 20);
}

/* Which call is the k-th is then a matter of luck. */
static void
two_threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (strcmp(ways[i].codec, only) == 0)
			try_way(&ways[i], 2, 2);
}

int
main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(two_threads),
	};

	if (argc != 2)
		return 2;
	only = argv[1];
	make_plain();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
