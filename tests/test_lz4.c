/*
 * test_lz4.c - LZ4 both ways, against liblz4's frames and lz4(1)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../src/codec/formats.h"

#include "bytes.h"
#include "fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <lz4.h>
#include <lz4frame.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>

enum { KIB = 1 << 10, MIB = 1 << 20 };

struct bytes {
	uint8_t *p;
	size_t n;
};

static char dir[] = "/tmp/test_lz4.XXXXXX";

static struct bytes
bytes_new(size_t n)
{
	struct bytes b = { malloc(n + 1), n };

	assert_non_null(b.p);
	return b;
}

static struct bytes
bytes_of(const void *p, size_t n)
{
	struct bytes b = bytes_new(n);

	memcpy(b.p, p, n);
	return b;
}

static void
append(struct bytes *b, const void *p, size_t n)
{
	b->p = realloc(b->p, b->n + n + 1);
	assert_non_null(b->p);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void
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

/* Words, with a stretch of noise now and then. */
static struct bytes
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

static struct bytes
noise(size_t n)
{
	struct bytes b = bytes_new(n);
	uint32_t s = 7;

	for (size_t i = 0; i < n; i++)
		b.p[i] = (uint8_t)next(&s);
	return b;
}

static struct bytes
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

/* Runs a coder; what came out before an error is in *out too. */
static int
run_fd(const struct coder *c, const struct codec_options *o, int fd,
    struct bytes *out)
{
	struct codec_notes notes = { false, false };
	struct pipeline_stats stats = { .in_bytes = 0 };
	struct pipeline_params params = { .threads = o->threads };
	struct input in;
	const char *why;
	struct plan p;
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

static int
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
		/* what is left after an error, so that the writer ends */
		while (read(fds[0], (char [4096]){ 0 }, 4096) > 0)
			;
		pthread_join(thread, NULL);
	}
	close(fds[0]);
	return rc;
}

static struct bytes
pack(struct bytes in, int level, size_t block, unsigned threads, bool by_pipe)
{
	struct codec_options o = { .level = level, .block = block,
	    .threads = threads };
	struct bytes out;

	assert_int_equal(run(codec_lz4.encode, &o, in, by_pipe, &out), 0);
	return out;
}

static int
unpack(struct bytes in, unsigned threads, bool by_pipe, struct bytes *out)
{
	struct codec_options o = { .threads = threads };

	return run(codec_lz4.decode, &o, in, by_pipe, out);
}

static void
assert_same(struct bytes a, struct bytes b)
{
	assert_int_equal(a.n, b.n);
	if (a.n > 0)
		assert_int_equal(memcmp(a.p, b.p, a.n), 0);
}

/* It gives want, whatever the threads, from a file or a pipe. */
static void
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

static void
assert_refused(struct bytes packed, int want)
{
	for (unsigned i = 0; i < 4; i++) {
		struct bytes out;
		int rc = unpack(packed, 1 + i / 2, i % 2, &out);

		free(out.p);
		assert_int_equal(rc, want);
	}
}

/* As liblz4 writes it, flushed every step bytes if step is not 0. */
static struct bytes
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

static struct bytes
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

static void
round_trips(void **state)
{
	static const size_t sizes[] = { 0, 1, 12, 13, 1000, 64 * KIB - 1,
	    64 * KIB, 64 * KIB + 1, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1,
	    13 * MIB };
	static const int levels[] = { 1, 2, 3, 9, 12 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t k = 0; k < (sizes[i] > 5 * MIB ? 3 : 5); k++) {
			struct bytes in = sample(sizes[i], (uint32_t)i);
			struct bytes z = pack(in, levels[k], 0, 2, i % 2);
			LZ4F_frameInfo_t info;
			struct bytes out = library_unpack(z, in.n, &info);

			assert_same(out, in);
			assert_int_equal(info.blockSizeID, LZ4F_max4MB);
			assert_int_equal(info.blockMode,
			    LZ4F_blockIndependent);
			assert_int_equal(info.blockChecksumFlag,
			    LZ4F_blockChecksumEnabled);
			assert_int_equal(info.contentChecksumFlag,
			    LZ4F_contentChecksumEnabled);
			assert_int_equal(info.contentSize, 0);
			assert_unpacks(z, in);
			free(in.p);
			free(out.p);
			free(z.p);
		}
}

/* No larger than liblz4 makes it, but for the checksums of the blocks. */
static void
sizes(void **state)
{
	struct bytes in = sample(4 * MIB + 5, 3);
	LZ4F_preferences_t prefs = { .frameInfo = {
	    .blockSizeID = LZ4F_max4MB, .blockMode = LZ4F_blockIndependent,
	    .contentChecksumFlag = LZ4F_contentChecksumEnabled,
	    .blockChecksumFlag = LZ4F_blockChecksumEnabled } };

	(void)state;
	for (int level = 1; level <= 12; level += level < 3 ? 1 : 3) {
		struct bytes ours = pack(in, level, 0, 2, false), theirs;

		prefs.compressionLevel = level;
		theirs = library_pack(in, &prefs, 0);
		assert_true(ours.n <= theirs.n);
		free(ours.p);
		free(theirs.p);
	}
	free(in.p);
}

static void
same_bytes(void **state)
{
	static const int levels[] = { 1, 3 };
	struct bytes in = sample(13 * MIB + 17, 1);

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct bytes one = pack(in, levels[k], 0, 1, false);

		for (unsigned threads = 1; threads <= 8; threads *= 2)
			for (int by_pipe = 0; by_pipe < 2; by_pipe++) {
				struct bytes z = pack(in, levels[k], 0,
				    threads, by_pipe);

				assert_same(z, one);
				free(z.p);
			}
		free(one.p);
	}
	free(in.p);
}

static void
stores_noise(void **state)
{
	struct bytes in = noise(5 * MIB), z = pack(in, 1, 0, 2, false);

	(void)state;
	assert_int_equal(z.n, 7 + 5 * MIB + 2 * 8 + 8);
	assert_int_equal(load_le32(z.p + 7), 4 * MIB | 0x80000000U);
	assert_unpacks(z, in);
	free(in.p);
	free(z.p);
}

static void
block_sizes(void **state)
{
	static const struct {
		size_t block;
		uint8_t code;
	} rows[] = { { 1, 0x40 }, { 64 * KIB, 0x40 }, { 64 * KIB + 1, 0x50 },
	    { 256 * KIB, 0x50 }, { 300 * KIB, 0x60 }, { MIB, 0x60 },
	    { 2 * MIB, 0x70 }, { 4 * MIB, 0x70 }, { 0, 0x70 } };
	struct bytes in = sample(3 * MIB, 2);
	struct codec_options o = { .level = 1, .threads = 1,
	    .block = 4 * MIB + 1 };
	const char *why = NULL;
	struct plan p;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes z = pack(in, 1, rows[i].block, 2, false);

		assert_int_equal(z.p[5], rows[i].code);
		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
	assert_int_equal(codec_lz4.encode->plan(&o, &p, &why), -ENOTSUP);
	assert_non_null(why);
}

/* Blocks of the output that are also in a's, by their checksums. */
static size_t
shared_bytes(struct bytes a, struct bytes b)
{
	size_t shared = 0;

	for (size_t i = 7; i + 8 < b.n;) {
		size_t n = 8 + (load_le32(b.p + i) & 0x7fffffff);

		if (n == 8)
			break;
		if (memmem(a.p, a.n, b.p + i, n) != NULL)
			shared += n;
		i += n;
	}
	return shared;
}

static void
rsyncable(void **state)
{
	struct codec_options o = { .level = 1, .threads = 2,
	    .rsyncable = true, .block = 256 * KIB };
	struct bytes in = sample(6 * MIB, 5), moved = bytes_of("new", 3);
	struct bytes z, y, plain;

	(void)state;
	append(&moved, in.p, in.n);
	assert_int_equal(run(codec_lz4.encode, &o, in, false, &z), 0);
	assert_int_equal(run(codec_lz4.encode, &o, moved, true, &y), 0);
	plain = pack(moved, 1, 256 * KIB, 2, false);
	assert_unpacks(z, in);
	assert_unpacks(y, moved);
	assert_true(shared_bytes(z, y) > y.n / 2);
	assert_true(shared_bytes(z, plain) < plain.n / 10);
	free(in.p);
	free(moved.p);
	free(plain.p);
	free(z.p);
	free(y.p);
}

static void
library_frames(void **state)
{
	struct bytes in = sample(5 * MIB + 99, 8), rough = noise(300000);

	(void)state;
	append(&in, rough.p, rough.n);
	for (unsigned i = 0; i < 64; i++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = (LZ4F_blockSizeID_t)(4 + i % 4),
		    .blockMode = i & 4 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = i & 8 ?
		    LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum,
		    .blockChecksumFlag = i & 16 ?
		    LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum,
		    .contentSize = i & 32 ? in.n : 0 } };
		struct bytes z = library_pack(in, &prefs, 0), out;

		assert_int_equal(unpack(z, 1 + i % 3, i % 2, &out), 0);
		assert_same(out, in);
		free(out.p);
		free(z.p);
	}
	free(in.p);
	free(rough.p);
}

/* History that reaches over many blocks, and over pieces. */
static void
small_blocks(void **state)
{
	static const size_t steps[] = { 100, 1000, 30000, 65535, 70000 };
	struct bytes in = sample(3 * MIB, 9);

	(void)state;
	for (size_t i = 0; i < 10; i++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = i % 2 ? LZ4F_max4MB : LZ4F_max64KB,
		    .blockMode = i < 5 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = LZ4F_contentChecksumEnabled },
		    .autoFlush = 1 };
		struct bytes z = library_pack(in, &prefs, steps[i % 5]);

		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
}

/* Frames made by hand */

static struct bytes
header(uint8_t flags, uint8_t bd, uint64_t size)
{
	struct bytes b = bytes_of("\x04\x22\x4d\x18", 4);
	uint8_t le[8], check;

	append(&b, &flags, 1);
	append(&b, &bd, 1);
	store_le64(le, size);
	if (flags & 8)
		append(&b, le, 8);
	if (flags & 1)
		append(&b, "\1\2\3\4", 4);
	check = XXH32(b.p + 4, b.n - 4, 0) >> 8 & 0xff;
	append(&b, &check, 1);
	return b;
}

static struct bytes
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

static struct bytes
skippable(unsigned kind, size_t n)
{
	struct bytes b = { NULL, 0 }, rough = noise(n);

	append_le32(&b, 0x184d2a50 + kind);
	append_le32(&b, (uint32_t)n);
	append(&b, rough.p, n);
	free(rough.p);
	return b;
}

static void
mixed_frames(void **state)
{
	struct bytes in = sample(100000, 4), z = pack(in, 1, 0, 1, false);
	struct bytes old = legacy(in, 30000), all = { NULL, 0 };
	struct bytes want = { NULL, 0 }, s0 = skippable(0, 0);
	struct bytes s15 = skippable(15, 200000);
	struct bytes parts[] = { s0, z, s15, old, z, old, old, s0, z, z, s15 };

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		append(&all, parts[i].p, parts[i].n);
		if (parts[i].p == z.p || parts[i].p == old.p)
			append(&want, in.p, in.n);
		assert_unpacks(all, want);
	}
	free(in.p);
	free(z.p);
	free(old.p);
	free(s0.p);
	free(s15.p);
	free(all.p);
	free(want.p);
}

static void
legacy_frames(void **state)
{
	struct bytes in = sample(19 * MIB, 4), rough = noise(8 * MIB), z;
	struct bytes empty = { NULL, 0 };

	(void)state;
	z = legacy(in, 8 * MIB);
	assert_unpacks(z, in);
	free(z.p);
	/* a block that is larger than what it decodes to */
	z = legacy(rough, 8 * MIB);
	assert_true(z.n > rough.n + 8);
	assert_unpacks(z, rough);
	free(z.p);
	z = legacy(in, 12345);
	assert_unpacks(z, in);
	free(z.p);
	/* lz4(1) takes these for good */
	z = legacy(empty, 1);
	assert_int_equal(z.n, 4);
	assert_unpacks(z, empty);
	assert_unpacks(empty, empty);
	/* a block of more than 8 MiB */
	append(&rough, "x", 1);
	memset(rough.p, 0, rough.n);
	free(z.p);
	z = legacy(rough, rough.n);
	assert_refused(z, -EBADMSG);
	free(z.p);
	z = bytes_of("\x02\x21\x4c\x18\0\0\0\0", 8);
	assert_refused(z, -EBADMSG);
	free(z.p);
	free(in.p);
	free(rough.p);
}

static void
bad_headers(void **state)
{
	static const struct {
		uint8_t flags, bd;
		int want;
	} rows[] = { { 0x60, 0x40, 0 }, { 0x62, 0x40, -EBADMSG },
	    { 0x60, 0xc0, -EBADMSG }, { 0x60, 0x41, -EBADMSG },
	    { 0x60, 0x48, -EBADMSG }, { 0x60, 0x30, -EBADMSG },
	    { 0x60, 0x00, -EBADMSG }, { 0x20, 0x40, -ENOTSUP },
	    { 0xa0, 0x40, -ENOTSUP }, { 0x61, 0x40, -ENOTSUP },
	    { 0x69, 0x40, -ENOTSUP }, { 0x68, 0x70, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bytes b = header(rows[i].flags, rows[i].bd, 0);

		append_le32(&b, 0);
		assert_refused(b, rows[i].want);
		b.p[b.n - 5] ^= 0x10;
		assert_refused(b, rows[i].want == -ENOTSUP &&
		    !(rows[i].flags & 1) ? -ENOTSUP : -EBADMSG);
		free(b.p);
	}
}

/* One block with this length in front of it. */
static struct bytes
one_block(uint8_t flags, uint32_t word, const char *data, size_t n)
{
	struct bytes b = header(flags, 0x40, 0);

	append_le32(&b, word);
	append(&b, data, n);
	append_le32(&b, 0);
	return b;
}

static void
bad_blocks(void **state)
{
	struct bytes b, zeros = bytes_new(70000), want, rough, old;
	char packed[1000];
	int n;

	(void)state;
	memset(zeros.p, 0, zeros.n);
	/* literals, and a match at distance 1 of them */
	b = one_block(0x60, 11, "\x14" "a\1\0\x50" "bcdef", 11);
	b.n -= 5;
	append_le32(&b, 0);
	assert_refused(b, -EBADMSG);
	free(b.p);
	b = one_block(0x60, 10, "\x14" "a\1\0\x50" "bcdef", 10);
	want = bytes_of("aaaaaaaaabcdef", 14);
	assert_unpacks(b, want);
	free(b.p);
	/* reaching before the frame: linked or not */
	for (uint8_t flags = 0x40; flags <= 0x60; flags += 0x20) {
		b = one_block(flags, 10, "\x14" "a\2\0\x50" "bcdef", 10);
		assert_refused(b, -EBADMSG);
		free(b.p);
	}
	/* larger than the frame's blocks, in the file or decoded */
	b = one_block(0x60, 0x80000000U | 65537, (char *)zeros.p, 65537);
	assert_refused(b, -EBADMSG);
	free(b.p);
	b = one_block(0x60, 0x80000000U | 65536, (char *)zeros.p, 65536);
	zeros.n = 65536;
	assert_unpacks(b, zeros);
	free(b.p);
	for (uint8_t flags = 0x40; flags <= 0x60; flags += 0x20) {
		n = LZ4_compress_default((char *)zeros.p, packed, 65537,
		    sizeof(packed));
		assert_true(n > 0);
		b = one_block(flags, (uint32_t)n, packed, (size_t)n);
		assert_refused(b, -EBADMSG);
		free(b.p);
	}
	/* decoding to no more, but longer than it would be stored */
	rough = noise(65536);
	old = legacy(rough, rough.n);
	b = one_block(0x60, (uint32_t)old.n - 8, (char *)old.p + 8,
	    old.n - 8);
	assert_refused(b, -EBADMSG);
	free(b.p);
	free(old.p);
	free(rough.p);
	/* empty blocks, many */
	want.n = 5 * MIB / 4;
	want.p = realloc(want.p, want.n);
	assert_non_null(want.p);
	for (size_t i = 0; i < want.n; i += 4)
		store_le32(want.p + i, 0x80000000U);
	b = header(0x40, 0x40, 0);
	append(&b, want.p, want.n);
	append_le32(&b, 0);
	zeros.n = 0;
	assert_unpacks(b, zeros);
	free(b.p);
	free(zeros.p);
	free(want.p);
}

static void
wrong_sizes(void **state)
{
	(void)state;
	for (uint8_t flags = 0x48; flags <= 0x68; flags += 0x20)
		for (uint64_t size = 0; size < 10; size++) {
			struct bytes b = header(flags, 0x40, size);

			append_le32(&b, 0x80000005U);
			append(&b, "hello", 5);
			append_le32(&b, 0);
			assert_refused(b, size == 0 || size == 5 ? 0 :
			    -EBADMSG);
			free(b.p);
		}
}

static void
garbage_behind(void **state)
{
	struct bytes in = sample(1000, 1), z = pack(in, 1, 0, 1, false);
	struct bytes old = legacy(in, 1000), b;
	int want;

	(void)state;
	for (size_t n = 1; n < 12; n++) {
		want = n < 4 ? -ENODATA : -EBADMSG;
		b = bytes_of(z.p, z.n);
		append(&b, "xxxxxxxxxxxx", n);
		assert_refused(b, want);
		memset(b.p + z.n, 0, n);
		assert_refused(b, want);
		free(b.p);
		b = bytes_of(old.p, old.n);
		append(&b, "xxxxxxxxxxxx", n);
		assert_refused(b, want);
		free(b.p);
	}
	b = bytes_of("garbage of some length", 22);
	assert_refused(b, -EBADMSG);
	free(b.p);
	free(in.p);
	free(z.p);
	free(old.p);
}

/* Frames of each kind that hold in. */
static struct bytes
frame_kind(struct bytes in, int kind)
{
	LZ4F_preferences_t prefs = { .frameInfo = {
	    .blockSizeID = LZ4F_max64KB,
	    .blockMode = kind == 1 ? LZ4F_blockLinked :
	    LZ4F_blockIndependent, .contentSize = in.n,
	    .contentChecksumFlag = LZ4F_contentChecksumEnabled,
	    .blockChecksumFlag = kind == 1 ? LZ4F_noBlockChecksum :
	    LZ4F_blockChecksumEnabled } };

	return kind == 0 ? pack(in, 1, 0, 1, false) :
	    kind == 3 ? legacy(in, 300) : library_pack(in, &prefs, 300);
}

static void
cut_short(void **state)
{
	struct bytes in = sample(1500, 6), skip = skippable(3, 20);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct bytes z = frame_kind(in, kind), out;
		size_t n = z.n, i;

		for (z.n = 1; z.n < n; z.n++) {
			int rc = unpack(z, 1 + z.n % 2, z.n % 3 == 0, &out);

			/* the old kind may end behind any block */
			if (kind < 3 || rc != 0)
				assert_int_equal(rc, -ENODATA);
			assert_true(out.n <= in.n);
			assert_memory_equal(out.p, in.p, out.n);
			free(out.p);
		}
		z.n = n;
		append(&z, skip.p, skip.n);
		for (i = 1; i <= skip.n; i++) {
			z.n = n + i;
			/* cut in what is skipped: as lz4(1) sees files */
			if (i < 8)
				assert_refused(z, -ENODATA);
			else
				assert_unpacks(z, in);
		}
		free(z.p);
	}
	free(in.p);
	free(skip.p);
}

static void
flipped_bits(void **state)
{
	struct bytes in = sample(1500, 6);

	(void)state;
	for (int kind = 0; kind < 3; kind++) {
		struct bytes z = frame_kind(in, kind), out;
		int rc;

		for (size_t i = 0; i < z.n * 8; i++) {
			z.p[i / 8] ^= (uint8_t)(1 << i % 8);
			rc = unpack(z, 1 + i % 2, false, &out);
			/* without checks of blocks: an equal match elsewhere */
			if (rc == 0 && kind == 1)
				assert_same(out, in);
			else
				assert_true(rc < 0);
			free(out.p);
			z.p[i / 8] ^= (uint8_t)(1 << i % 8);
		}
		free(z.p);
	}
	free(in.p);
}

/* Cut and flipped where several pieces are in flight. */
static void
large_and_wrong(void **state)
{
	struct bytes in = sample(17 * MIB, 11);

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		LZ4F_preferences_t prefs = { .frameInfo = {
		    .blockSizeID = LZ4F_max256KB,
		    .blockMode = kind == 1 ? LZ4F_blockLinked :
		    LZ4F_blockIndependent,
		    .contentChecksumFlag = LZ4F_contentChecksumEnabled } };
		struct bytes z = kind == 0 ? pack(in, 1, 0, 2, false) :
		    kind == 3 ? legacy(in, 8 * MIB) :
		    library_pack(in, &prefs, 0);
		struct bytes out;
		size_t n = z.n;

		for (unsigned i = 1; i < 20; i += 4) {
			z.n = n / 20 * i;
			assert_int_equal(unpack(z, 1 + i % 3, i % 2, &out),
			    -ENODATA);
			assert_true(out.n < in.n);
			assert_memory_equal(out.p, in.p, out.n);
			/* nearly all of what is there comes out */
			assert_true(out.n + 9 * MIB > in.n / 20 * i);
			free(out.p);
			z.n = n;
			z.p[n / 20 * i] ^= 4;
			assert_true(kind == 3 ||
			    unpack(z, 1 + i % 3, i % 2, &out) < 0);
			if (kind != 3)
				free(out.p);
			z.p[n / 20 * i] ^= 4;
		}
		free(z.p);
	}
	free(in.p);
}

static void
magic_numbers(void **state)
{
	struct bytes skip = skippable(0, 8);

	(void)state;
	assert_true(codec_lz4.magic((const uint8_t *)"\x04\x22\x4d\x18", 4));
	assert_true(codec_lz4.magic((const uint8_t *)"\x02\x21\x4c\x18", 4));
	assert_false(codec_lz4.magic((const uint8_t *)"\x04\x22\x4d\x18", 3));
	assert_false(codec_lz4.magic((const uint8_t *)"\x28\xb5\x2f\xfd", 4));
	assert_true(codec_lz4.magic(skip.p, skip.n));
	append(&skip, "\x28\xb5\x2f\xfd", 4);
	assert_false(codec_lz4.magic(skip.p, skip.n));
	memcpy(skip.p + skip.n - 4, "\x04\x22\x4d\x18", 4);
	assert_true(codec_lz4.magic(skip.p, skip.n));
	free(skip.p);
}

/* lz4(1) */

static bool
have_lz4(void)
{
	return system("lz4 --version >/dev/null 2>&1") == 0;
}

static void
put_file(const char *name, struct bytes b)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fdio_write(fd, b.p, b.n), 0);
	close(fd);
}

static struct bytes
get_file(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct bytes b;

	assert_true(fd >= 0);
	b = read_fd(fd);
	close(fd);
	return b;
}

static void
tool_reads_ours(void **state)
{
	static const int levels[] = { 1, 9 };
	struct bytes in = sample(9 * MIB, 12), empty = { in.p, 0 };

	(void)state;
	if (!have_lz4())
		skip();
	for (size_t i = 0; i < 4; i++) {
		struct bytes want = i < 2 ? in : empty, out;
		struct bytes z = pack(want, levels[i % 2], 0, 2, false);

		put_file("ours.lz4", z);
		assert_int_equal(system("lz4 -dc <ours.lz4 >out"), 0);
		out = get_file("out");
		assert_same(out, want);
		free(out.p);
		free(z.p);
	}
	free(in.p);
}

static void
we_read_the_tool(void **state)
{
	static const char *const options[] = { "", "-B4", "-B5", "-B6", "-B7",
	    "-B4 -BD", "-B5 -BD", "-B7 -BD", "-BX", "-B4 -BD -BX", "-B6 -BX",
	    "--no-frame-crc", "-B4 -BD --no-frame-crc", "--content-size",
	    "-BD --content-size", "-l", "-9", "-9 -BD -B4", "--fast=8",
	    "-12 -B4" };
	struct bytes in = sample(9 * MIB, 13);
	char command[200];

	(void)state;
	if (!have_lz4())
		skip();
	put_file("in", in);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct bytes z;

		snprintf(command, sizeof(command),
		    "lz4 -qf %s in theirs.lz4", options[i]);
		assert_int_equal(system(command), 0);
		z = get_file("theirs.lz4");
		assert_unpacks(z, in);
		free(z.p);
	}
	free(in.p);
}

/* Files that others made, judged by lz4(1). */
static void
vectors(void **state)
{
	const char *at = getenv("COLDPRESS_VECTORS");
	char pattern[4096], command[4200];
	glob_t g;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/lz4/*", at == NULL ? "" : at);
	if (at == NULL || !have_lz4() || glob(pattern, 0, NULL, &g) != 0)
		skip();
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct bytes z = get_file(g.gl_pathv[i]), want, out;
		int rc;

		snprintf(command, sizeof(command),
		    "lz4 -qdc <'%s' >want 2>errors", g.gl_pathv[i]);
		rc = system(command);
		want = get_file("want");
		if (rc == 0) {
			assert_unpacks(z, want);
		} else {
			assert_true(unpack(z, 2, false, &out) < 0);
			free(out.p);
		}
		free(z.p);
		free(want.p);
	}
	globfree(&g);
}

static int
setup(void **state)
{
	const char *at = getenv("COLDPRESS_VECTORS");
	char *full = realpath(at == NULL ? "../shared/vectors" : at, NULL);

	(void)state;
	if (full != NULL)
		setenv("COLDPRESS_VECTORS", full, 1);
	free(full);
	return mkdtemp(dir) == NULL || chdir(dir) == -1;
}

static int
teardown(void **state)
{
	static const char *const names[] = { "in", "ours.lz4", "theirs.lz4",
	    "out", "want", "errors" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	return chdir("/") == -1 || rmdir(dir) == -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(sizes),
		cmocka_unit_test(same_bytes),
		cmocka_unit_test(stores_noise),
		cmocka_unit_test(block_sizes),
		cmocka_unit_test(rsyncable),
		cmocka_unit_test(library_frames),
		cmocka_unit_test(small_blocks),
		cmocka_unit_test(mixed_frames),
		cmocka_unit_test(legacy_frames),
		cmocka_unit_test(bad_headers),
		cmocka_unit_test(bad_blocks),
		cmocka_unit_test(wrong_sizes),
		cmocka_unit_test(garbage_behind),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(large_and_wrong),
		cmocka_unit_test(magic_numbers),
		cmocka_unit_test(tool_reads_ours),
		cmocka_unit_test(we_read_the_tool),
		cmocka_unit_test(vectors),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
