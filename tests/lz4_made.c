/*
 * lz4_made.c - functions shared by the LZ4 tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lz4_made.h"

#include "base/bytes.h"
#include "base/fdio.h"

#include <fcntl.h>
#include <lz4.h>
#include <lz4frame.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct bytes
bytes_new(size_t n)
{
	struct bytes b = { malloc(n + 1), n };

	assert_non_null(b.p);
	return b;
}

struct bytes
bytes_of(const void *p, size_t n)
{
	struct bytes b = bytes_new(n);

	memcpy(b.p, p, n);
	return b;
}

void
append(struct bytes *b, const void *p, size_t n)
{
	b->p = realloc(b->p, b->n + n + 1);
	assert_non_null(b->p);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

void
append_le32(struct bytes *b, uint32_t v)
{
	uint8_t w[4];

	store_le32(w, v);
	append(b, w, sizeof(w));
}

static uint32_t
next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

struct bytes
sample(size_t n, uint32_t seed)
{
	struct bytes b = bytes_new(n);
	uint32_t s = seed;
	size_t i = 0;

	while (i < n) {
		uint32_t word = next(&s) % 3000, noise = next(&s);
		size_t len = noise % 5000 == 0 ? 60000 : 3 + word % 9;

		for (size_t k = 0; k < len && i < n; k++, i++)
			b.p[i] = (uint8_t)(noise % 5000 == 0 ? next(&s) :
			    'a' + (word * 31 + k * k * word) % 26);
	}
	return b;
}

struct bytes
noise(size_t n)
{
	struct bytes b = bytes_new(n);
	uint32_t s = 7;

	for (size_t i = 0; i < n; i++)
		b.p[i] = (uint8_t)next(&s);
	return b;
}

struct bytes
legacy(struct bytes in, size_t step)
{
	struct bytes b = bytes_of("\x02\x21\x4c\x18", 4);
	int cap = LZ4_compressBound((int)step);
	char *to = malloc((size_t)cap);

	assert_non_null(to);
	for (size_t i = 0; i < in.n; i += step) {
		size_t len = step < in.n - i ? step : in.n - i;
		int n = LZ4_compress_default((const char *)in.p + i, to,
		    (int)len, cap);

		append_le32(&b, (uint32_t)n);
		append(&b, to, (size_t)n);
	}
	free(to);
	return b;
}

struct bytes
skippable(unsigned kind, size_t n)
{
	struct bytes b = { NULL, 0 }, rough = noise(n);

	append_le32(&b, 0x184d2a50 + kind);
	append_le32(&b, (uint32_t)n);
	append(&b, rough.p, n);
	free(rough.p);
	return b;
}

struct bytes
read_fd(int fd)
{
	struct stat st;
	struct bytes b;

	assert_int_equal(fstat(fd, &st), 0);
	b = bytes_new((size_t)st.st_size);
	assert_int_equal(pread(fd, b.p, b.n, 0), b.n);
	return b;
}

static int
memory_file(struct bytes b)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fdio_write(fd, b.p, b.n), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

struct writer {
	int fd;
	struct bytes b;
};

static void *
write_pipe(void *arg)
{
	struct writer *w = arg;

	fdio_write(w->fd, w->b.p, w->b.n);
	close(w->fd);
	return NULL;
}

/* Runs a coder; *out also receives any output produced before an error. */
static int
run_fd(const struct coder *c, const struct codec_options *o, int fd,
    struct bytes *out)
{
	struct codec_notes notes = { .need = 0 };
	struct pipeline_stats stats = { .in_bytes = 0 };
	struct pipeline_params params = { .threads = o->threads };
	struct input in;
	const char *why;
	struct memory_plan p;
	void *job;
	int rc;

	params.out_fd = memfd_create("out", MFD_CLOEXEC);
	assert_true(params.out_fd >= 0);
	assert_int_equal(c->plan(o, &p, &why), 0);
	params.slots = p.slots;
	assert_int_equal(c->open(&job, o, &p, &notes), 0);
	assert_int_equal(input_open(&in, fd), 0);
	rc = pipeline_run(&c->ops, job, &in, &params, &stats);
	c->close(job);
	input_close(&in);
	*out = read_fd(params.out_fd);
	close(params.out_fd);
	return rc;
}

int
run(const struct coder *c, const struct codec_options *o, struct bytes in,
    bool by_pipe, struct bytes *out)
{
	struct writer w = { .b = in };
	pthread_t thread;
	int fds[2], rc;

	if (!by_pipe) {
		fds[0] = memory_file(in);
		rc = run_fd(c, o, fds[0], out);
	} else {
		assert_int_equal(pipe(fds), 0);
		w.fd = fds[1];
		assert_int_equal(pthread_create(&thread, NULL, write_pipe,
		    &w), 0);
		rc = run_fd(c, o, fds[0], out);
		/* drain the rest after an error, so that the writer finishes */
		while (read(fds[0], (char [4096]){ 0 }, 4096) > 0)
			;
		pthread_join(thread, NULL);
	}
	close(fds[0]);
	return rc;
}

struct bytes
pack(struct bytes in, int level, size_t block, unsigned threads, bool by_pipe)
{
	struct codec_options o = { .level = level, .block = block,
	    .threads = threads };
	struct bytes out;

	assert_int_equal(run(codec_lz4.encode, &o, in, by_pipe, &out), 0);
	return out;
}

int
unpack(struct bytes in, unsigned threads, bool by_pipe, struct bytes *out)
{
	struct codec_options o = { .threads = threads };

	return run(codec_lz4.decode, &o, in, by_pipe, out);
}

void
assert_same(struct bytes a, struct bytes b)
{
	assert_int_equal(a.n, b.n);
	if (a.n > 0)
		assert_int_equal(memcmp(a.p, b.p, a.n), 0);
}

void
assert_unpacks(struct bytes packed, struct bytes want)
{
	static const unsigned threads[] = { 1, 2, 8 };

	for (size_t i = 0; i < 3; i++) {
		struct bytes out;

		assert_int_equal(unpack(packed, threads[i], i % 2, &out), 0);
		assert_same(out, want);
		free(out.p);
	}
}

void
assert_refused(struct bytes packed, int want)
{
	for (unsigned i = 0; i < 4; i++) {
		struct bytes out;
		int rc = unpack(packed, 1 + i / 2, i % 2, &out);

		free(out.p);
		assert_int_equal(rc, want);
	}
}

struct bytes
library_pack(struct bytes in, const LZ4F_preferences_t *prefs, size_t step)
{
	size_t bound = LZ4F_compressBound(in.n, prefs) + 64;
	struct bytes out = bytes_new(bound + (step > 0 ? in.n / step * 64 +
	    bound : 0));
	size_t cap = out.n, i, n;
	LZ4F_cctx *c;

	assert_false(LZ4F_isError(LZ4F_createCompressionContext(&c,
	    LZ4F_VERSION)));
	out.n = LZ4F_compressBegin(c, out.p, cap, prefs);
	for (i = 0; i < in.n; i += n) {
		n = step > 0 && step < in.n - i ? step : in.n - i;
		out.n += LZ4F_compressUpdate(c, out.p + out.n, cap - out.n,
		    in.p + i, n, NULL);
		if (step > 0)
			out.n += LZ4F_flush(c, out.p + out.n, cap - out.n,
			    NULL);
		assert_true(out.n < cap);
	}
	out.n += LZ4F_compressEnd(c, out.p + out.n, cap - out.n, NULL);
	assert_true(out.n < cap);
	LZ4F_freeCompressionContext(c);
	return out;
}

struct bytes
library_unpack(struct bytes in, size_t room, LZ4F_frameInfo_t *info)
{
	struct bytes out = bytes_new(room);
	LZ4F_dctx *d;
	size_t used = in.n, made, pos, rc;

	assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&d,
	    LZ4F_VERSION)));
	rc = LZ4F_getFrameInfo(d, info, in.p, &used);
	pos = used;
	out.n = 0;
	while (rc != 0 && !LZ4F_isError(rc) && pos < in.n) {
		used = in.n - pos;
		made = room - out.n;
		rc = LZ4F_decompress(d, out.p + out.n, &made, in.p + pos,
		    &used, NULL);
		pos += used;
		out.n += made;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(pos, in.n);
	LZ4F_freeDecompressionContext(d);
	return out;
}
