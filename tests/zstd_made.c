/*
 * zstd_made.c - functions shared by the zstd tests: samples, and round trips
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_made.h"

#include "format/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct buf
new_buf(size_t cap)
{
	struct buf b = { .cap = cap + 1 };

	b.data = malloc(b.cap);
	assert_non_null(b.data);
	return b;
}

void
add(struct buf *b, const void *p, size_t n)
{
	if (b->len + n > b->cap) {
		assert_true(p != b->data);
		b->cap = 2 * (b->len + n);
		b->data = realloc(b->data, b->cap);
		assert_non_null(b->data);
	}
	if (n > 0)
		memcpy(b->data + b->len, p, n);
	b->len += n;
}

uint32_t
next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

struct buf
sample(int kind, size_t n, uint32_t seed)
{
	static const char *const words[] = { "    ", "return ", "====", "\n",
	    "static ", "int", "\t\t\t\t", "offset", " = ", "0x", "0000",
	    "window", "(", ")", ";\n", "const " };
	struct buf b = new_buf(n + 64);
	uint8_t record[96];

	for (size_t i = 0; i < sizeof(record); i++)
		record[i] = (uint8_t)next_random(&seed);
	while (b.len < n) {
		uint32_t r = next_random(&seed);
		char noise[4] = { (char)r, (char)(r >> 5), (char)(r >> 9),
		    (char)(r >> 3) };

		if (kind == 0)		/* zeros, with occasional other bytes */
			add(&b, r % 1000 == 0 ? "x" : "\0\0\0\0",
			    r % 1000 == 0 ? 1 : 4);
		else if (kind <= 8)	/* a repeated period, with noise in
					 * it */
			add(&b, r % 200 == 0 ? noise : (char *)record,
			    r % 200 == 0 ? 3 : (size_t)kind);
		else if (kind == 9)	/* records */
			add(&b, r % 3 == 0 ? noise : (char *)record,
			    r % 3 == 0 ? 4 : sizeof(record));
		else if (kind == 10)
			add(&b, noise, 4);
		else
			add(&b, words[r % 16], strlen(words[r % 16]));
	}
	b.len = n;
	return b;
}

static ssize_t
read_buf(void *arg, void *to, size_t len)
{
	struct buf *b = arg;
	size_t n = len < b->len ? len : b->len;

	memcpy(to, b->data, n);
	b->data += n;
	b->len -= n;
	return (ssize_t)n;
}

int
run(bool decompress, const struct codec_options *o, struct buf in,
    struct buf *out)
{
	struct convert c = { .codec = &codec_zstd, .decompress = decompress,
	    .options = *o };
	struct convert_result r;
	struct input input;
	struct stat st;
	int fd = memfd_create("out", MFD_CLOEXEC), rc;

	assert_true(fd >= 0);
	if (c.options.window_max == 0)
		c.options.window_max = 128 * MIB;
	assert_int_equal(input_open_from(&input, read_buf, &in), 0);
	rc = convert_run(&c, &input, fd, &r);
	input_close(&input);
	assert_int_equal(fstat(fd, &st), 0);
	*out = new_buf((size_t)st.st_size + 1);
	out->len = (size_t)st.st_size;
	assert_int_equal(pread(fd, out->data, out->len, 0), out->len);
	close(fd);
	return rc;
}

void
assert_same(struct buf a, struct buf b)
{
	assert_int_equal(a.len, b.len);
	assert_true(a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

void
assert_unpacks(struct buf packed, struct buf want)
{
	for (unsigned threads = 1; threads <= 4; threads *= 2) {
		struct codec_options o = { .threads = threads };
		struct buf out;

		assert_int_equal(run(true, &o, packed, &out), 0);
		assert_same(out, want);
		free(out.data);
	}
}
