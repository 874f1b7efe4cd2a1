/*
 * test_verdicts.c - damaged streams of every format are accepted or rejected as
 * by the format's own library
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: test_verdicts [FORMAT]
 *
 * Small streams, ours and the library's, single and joined, get each bit
 * flipped, with and without the checksum of a header put right again, are cut at
 * each byte, and have bytes appended.  zlib, libbz2, liblzma, libzstd and liblz4
 * are the references for one member or frame; how members follow one another, and
 * what may follow the last, is the model below.
 */
#include "base/bytes.h"
#include "engine/lzma/unlzma.h"
#include "format/codec.h"
#include "format/convert.h"
#include "format/skippable.h"
#include "format/xz.h"

#include <bzlib.h>
#include <errno.h>
#include <lz4frame.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>
#include <cmocka.h>

enum { ROOM = 1 << 16, STREAM = 2048, TEXT = 90 };

/* What became of a stream. */
struct verdict {
	bool good;
	bool garbage;		/* something after the last member was
				 * ignored */
	size_t len;
	uint8_t out[ROOM];
};

/* What a reference says about one member at the start of a buffer. */
enum member { MEMBER_BAD, MEMBER_GOOD, MEMBER_OTHER };

/*
 * Decodes one member to out, which has *room bytes left; sets the bytes used,
 * and reduces the room.
 */
typedef enum member reference(const uint8_t *in, size_t len, size_t *used,
    uint8_t *out, size_t *room);

static bool
begins(const uint8_t *in, size_t len, const char *magic, size_t n)
{
	return len >= n && memcmp(in, magic, n) == 0;
}

static enum member
inflate_one(int bits, const uint8_t *in, size_t len, size_t *used, uint8_t *out,
    size_t *room)
{
	z_stream z = { .next_in = (z_const Bytef *)(uintptr_t)in,
	    .avail_in = (uInt)len, .next_out = out,
	    .avail_out = (uInt)*room };
	int rc;

	assert_int_equal(inflateInit2(&z, bits), Z_OK);
	rc = inflate(&z, Z_FINISH);
	*used = len - z.avail_in;
	*room = z.avail_out;
	inflateEnd(&z);
	return rc == Z_STREAM_END ? MEMBER_GOOD : MEMBER_BAD;
}

static enum member
gzip_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out,
    size_t *room)
{
	if (memcmp(in, "\x1f\x8b", len < 2 ? len : 2) != 0)
		return MEMBER_OTHER;
	return inflate_one(16 + MAX_WBITS, in, len, used, out, room);
}

static enum member
zlib_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out,
    size_t *room)
{
	return inflate_one(MAX_WBITS, in, len, used, out, room);
}

static enum member
bzip2_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out,
    size_t *room)
{
	bz_stream s = { .next_in = (char *)(uintptr_t)in,
	    .avail_in = (unsigned)len, .next_out = (char *)out,
	    .avail_out = (unsigned)*room };
	int rc;

	assert_int_equal(BZ2_bzDecompressInit(&s, 0, 0), BZ_OK);
	rc = BZ2_bzDecompress(&s);
	*used = len - s.avail_in;
	*room = s.avail_out;
	BZ2_bzDecompressEnd(&s);
	return rc == BZ_STREAM_END ? MEMBER_GOOD :
	    rc == BZ_DATA_ERROR_MAGIC ? MEMBER_OTHER : MEMBER_BAD;
}

static enum member
lzma_run(lzma_stream *s, const uint8_t *in, size_t len, size_t *used,
    uint8_t *out, size_t *room)
{
	lzma_ret rc;

	s->next_in = in;
	s->avail_in = len;
	s->next_out = out;
	s->avail_out = *room;
	while ((rc = lzma_code(s, LZMA_FINISH)) == LZMA_OK)
		;
	*used = len - s->avail_in;
	*room = s->avail_out;
	lzma_end(s);
	return rc == LZMA_STREAM_END ? MEMBER_GOOD :
	    rc == LZMA_FORMAT_ERROR ? MEMBER_OTHER : MEMBER_BAD;
}

/* One stream, and the padding after it */
static enum member
xz_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out, size_t *room)
{
	lzma_stream s = LZMA_STREAM_INIT;
	enum member m;

	assert_int_equal(lzma_stream_decoder(&s, UINT64_MAX, 0), LZMA_OK);
	m = lzma_run(&s, in, len, used, out, room);
	while (m == MEMBER_GOOD && len - *used >= 4 &&
	    memcmp(in + *used, "\0\0\0", 4) == 0)
		*used += 4;
	return m;
}

static enum member
lzma_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out,
    size_t *room)
{
	lzma_stream s = LZMA_STREAM_INIT;

	assert_int_equal(lzma_alone_decoder(&s, UINT64_MAX), LZMA_OK);
	return lzma_run(&s, in, len, used, out, room);
}

static enum member
zstd_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out,
    size_t *room)
{
	ZSTD_DStream *d = ZSTD_createDStream();
	ZSTD_inBuffer from = { in, len, 0 };
	ZSTD_outBuffer to = { out, *room, 0 };
	size_t rc = 1, before;

	do {
		before = from.pos + to.pos;
		rc = ZSTD_decompressStream(d, &to, &from);
	} while (rc != 0 && !ZSTD_isError(rc) && from.pos + to.pos > before);
	ZSTD_freeDStream(d);
	*used = from.pos;
	*room -= to.pos;
	if (len >= 4 && !begins(in, len, "\x28\xb5\x2f\xfd", 4) &&
	    !((in[0] & 0xf0) == 0x50 && begins(in + 1, len, "\x2a\x4d\x18", 3)))
		return MEMBER_OTHER;
	return rc == 0 ? MEMBER_GOOD : MEMBER_BAD;
}

static enum member
lz4_one(const uint8_t *in, size_t len, size_t *used, uint8_t *out, size_t *room)
{
	LZ4F_dctx *d;
	size_t rc = 1, n, m;

	if (len >= 4 && !begins(in, len, "\x04\x22\x4d\x18", 4) &&
	    !((in[0] & 0xf0) == 0x50 && begins(in + 1, len, "\x2a\x4d\x18", 3)))
		return MEMBER_OTHER;
	assert_false(LZ4F_isError(LZ4F_createDecompressionContext(&d,
	    LZ4F_VERSION)));
	*used = 0;
	do {
		n = len - *used;
		m = *room;
		rc = LZ4F_decompress(d, out, &m, in + *used, &n, NULL);
		out += m;
		*room -= m;
		*used += n;
	} while (rc != 0 && !LZ4F_isError(rc) && n + m > 0);
	LZ4F_freeDecompressionContext(d);
	return rc == 0 ? MEMBER_GOOD : MEMBER_BAD;
}

struct format {
	const char *name;
	reference *one;
	bool once;		/* there is only one member */
	bool strict;		/* nothing else may follow the last */
	bool padded;		/* any zeros may follow it */
	bool none;		/* there may be no member at all */
	/* spoils streams of the library */
	void (*theirs)(const struct format *f, uint8_t *text);
};

static void of_zlib(const struct format *f, uint8_t *text);
static void of_libbz2(const struct format *f, uint8_t *text);
static void of_liblzma(const struct format *f, uint8_t *text);
static void of_libzstd(const struct format *f, uint8_t *text);
static void of_liblz4(const struct format *f, uint8_t *text);

static const struct format formats[] = {
	{ .name = "gzip", .one = gzip_one, .padded = true,
	    .theirs = of_zlib },
	{ .name = "zlib", .one = zlib_one, .once = true, .padded = true },
	{ .name = "bzip2", .one = bzip2_one,
	    .theirs = of_libbz2 },
	{ .name = "xz", .one = xz_one, .strict = true,
	    .theirs = of_liblzma },
	{ .name = "lzma", .one = lzma_one, .once = true, .strict = true,
	    .theirs = of_liblzma },
	{ .name = "zstd", .one = zstd_one, .strict = true,
	    .theirs = of_libzstd },
	{ .name = "lz4", .one = lz4_one, .strict = true, .none = true,
	    .theirs = of_liblz4 },
};

enum { FORMATS = sizeof(formats) / sizeof(*formats) };

static void
refer(const struct format *f, const uint8_t *in, size_t len, struct verdict *v)
{
	size_t room = ROOM, used = 0, members = 0;
	enum member m = MEMBER_BAD;

	while (len > 0 && (members == 0 || !f->once)) {
		m = f->one(in, len, &used, v->out + ROOM - room, &room);
		if (m != MEMBER_GOOD)
			break;
		in += used;
		len -= used;
		members++;
	}
	while (f->padded && members > 0 && len > 0 && *in == 0) {
		in++;
		len--;
	}
	v->garbage = members > 0 && len > 0 && m != MEMBER_BAD && !f->strict;
	v->good = len == 0 ? members > 0 || f->none : v->garbage;
	v->len = ROOM - room;
}

static int
file_of(const uint8_t *data, size_t len)
{
	int fd = memfd_create("in", MFD_CLOEXEC);

	assert_int_equal(write(fd, data, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int
convert(const struct codec *codec, bool decompress,
    const struct codec_options *o, const uint8_t *data, size_t len,
    struct verdict *v)
{
	struct convert c = { .codec = codec, .decompress = decompress,
	    .options = *o };
	int in_fd = file_of(data, len), out_fd = memfd_create("out",
	    MFD_CLOEXEC), rc;
	struct convert_result r;
	struct input in;

	assert_int_equal(input_open(&in, in_fd), 0);
	rc = decompress ? (int)skippable_shorten(&in) : 0;
	if (rc == 0)
		rc = convert_run(&c, &in, out_fd, &r);
	v->good = rc == 0;
	v->garbage = rc == 0 && r.notes.trailing_garbage;
	v->len = (size_t)lseek(out_fd, 0, SEEK_END);
	assert_true(v->len <= ROOM);
	assert_int_equal(pread(out_fd, v->out, v->len, 0), v->len);
	input_close(&in);
	close(in_fd);
	close(out_fd);
	return rc;
}

struct stream {
	size_t len;
	uint8_t data[STREAM];
};

/* How often the decoder of small xz streams could decode one. */
static int small;

/* Puts the checksums of headers right again, for what they would hide. */
static void
mend(const struct format *f, uint8_t *p, size_t len)
{
	size_t n;

	if (strcmp(f->name, "zlib") == 0) {
		n = (size_t)p[0] << 8 | (p[1] & 0xe0);
		p[1] = (uint8_t)((p[1] & 0xe0) | (31 - n % 31) % 31);
	} else if (strcmp(f->name, "gzip") == 0 && p[3] == 2) {
		store_le16(p + 10, (uint16_t)crc32(0, p, 10));
	} else if (strcmp(f->name, "lz4") == 0 &&
	    load_le32(p) == 0x184d2204) {
		n = 6 + (p[4] & 8) + (p[4] & 1 ? 4 : 0);
		if (n < len)
			p[n] = (uint8_t)(XXH32(p + 4, n - 4, 0) >> 8);
	} else if (strcmp(f->name, "xz") == 0) {
		store_le32(p + 8, lzma_crc32(p + 6, 2, 0));
		n = 4 * ((size_t)p[12] + 1);
		if (p[12] != 0 && 12 + n <= len)
			store_le32(p + 12 + n - 4, lzma_crc32(p + 12, n - 4,
			    0));
		n = 4 * ((size_t)load_le32(p + len - 8) + 1);
		if (n <= len - 24)
			store_le32(p + len - 16, lzma_crc32(p + len - 12 - n,
			    n - 4, 0));
		store_le32(p + len - 12, lzma_crc32(p + len - 8, 6, 0));
	}
}

/*
 * The decoder of small streams leaves to liblzma what it does not know or like;
 * what it accepts is good.
 */
static void
judge_small(const uint8_t *data, size_t len, const struct verdict *theirs)
{
	static uint8_t out[ROOM];
	struct unlzma *u;
	int64_t n;

	assert_int_equal(unlzma_open(&u), 0);
	n = xz_decode_small(u, data, len, out, ROOM, 1 << 20);
	unlzma_close(u);
	assert_true(n == -EAGAIN || n == (int64_t)theirs->len);
	if (n >= 0)
		assert_memory_equal(out, theirs->out, (size_t)n);
	small += n >= 0;
}

/* Compares the verdicts on a stream, which `what` and n describe. */
static void
judge(const struct format *f, const uint8_t *data, size_t len,
    unsigned threads, const char *what, size_t n)
{
	struct codec_options o = { .threads = threads, .flush_ms = -1,
	    .window_max = 128 << 20 };
	const struct codec *codec = codec_by_name(f->name);
	static struct verdict ours, theirs, once;
	size_t used, room = ROOM;
	/*
	 * Skippable frames belong to two formats, and what they skip is seen
	 * only by pzc's choice of format.
	 */
	const struct codec *is = codec_by_magic(data, len);

	refer(f, data, len, &theirs);
	if (strcmp(f->name, "xz") == 0) {
		bool good = xz_one(data, len, &used, once.out, &room) ==
		    MEMBER_GOOD;

		once.len = good ? ROOM - room : SIZE_MAX;
		judge_small(data, len, &once);
	}
	/* a larger window than allowed is another matter */
	if (convert(codec, true, &o, data, len, &ours) == -EFBIG ||
	    (is != codec && is != NULL))
		return;
	if (ours.good != theirs.good || ours.garbage != theirs.garbage)
		fail_msg("%s, %s %zu, %u threads: %s%s, not %s%s", f->name,
		    what, n, threads, ours.good ? "good" : "bad",
		    ours.garbage ? " with garbage" : "",
		    theirs.good ? "good" : "bad",
		    theirs.garbage ? " with garbage" : "");
	if (ours.good && (ours.len != theirs.len ||
	    memcmp(ours.out, theirs.out, ours.len) != 0))
		fail_msg("%s, %s %zu: other content", f->name, what, n);
}

static void
spoil(const struct format *f, const struct stream *s, const char *which)
{
	static const char *const more[] = { "", "\0", "\0\0\0\0",
		"\0\0\0\0\0", "x", "xyzzy", "\x1f", "\x1f\x8b", "B", "BZ",
		"BZh", "BZh0", "BZh9", "\x28\xb5\x2f", "\x28\xb5\x2f\xfd",
		"\x50\x2a\x4d\x18\1\0\0\0", "\x50\x2a\x4d\x18\1\0\0\0z",
		"\x04\x22\x4d", "\x04\x22\x4d\x18", "\3757zXZ" };
	static const size_t lens[] = { 0, 1, 4, 5, 1, 5, 1, 2, 1, 2, 3, 4, 4, 3,
		4, 8, 9, 3, 4, 5 };
	uint8_t p[2 * STREAM + 16], q[STREAM];
	char what[64], mended[64];

	snprintf(what, sizeof(what), "%s, bit", which);
	snprintf(mended, sizeof(mended), "%s, mended, bit", which);
	for (size_t bit = 0; bit < 8 * s->len; bit++) {
		memcpy(p, s->data, s->len);
		p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		judge(f, p, s->len, bit % 16 == 7 ? 2 : 1, what, bit);
		memcpy(q, p, s->len);
		mend(f, q, s->len);
		if (memcmp(p, q, s->len) != 0)
			judge(f, q, s->len, 1 + bit % 2, mended, bit);
	}
	snprintf(what, sizeof(what), "%s, cut at", which);
	for (size_t n = 0; n < s->len; n++)
		judge(f, s->data, n, 1, what, n);
	snprintf(what, sizeof(what), "%s, end", which);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
		memcpy(p, s->data, s->len);
		memcpy(p + s->len, more[i], lens[i]);
		judge(f, p, s->len + lens[i], 1, what, i);
		judge(f, p, s->len + lens[i], 2, what, i);
		memcpy(p + s->len + lens[i], s->data, s->len);
		judge(f, p, 2 * s->len + lens[i], 1, what, 100 + i);
		judge(f, p, 2 * s->len + lens[i], 2, what, 100 + i);
	}
}

static void
text_of(uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		text[i] = (uint8_t)("one two three "[i % 14] + (i / 31 & 3));
}

/* Our own streams, with every option that changes their parts */
static void
of_ours(const struct format *f)
{
	static const struct codec_options rows[] = {
		{ .level = 1 }, { .level = 9,
		    .settings = { { .key = "size", .number = TEXT } } },
		{ .level = 1, .block = 32, .independent = true },
		{ .level = 3, .name = "n", .mtime = 7,
		    .settings = { { .key = "comment", .text = "c" } } },
		{ .level = 1, .settings = { { "block-check", 1, NULL },
		    { "check", 0, "crc32" } } },
		{ .level = 2, .settings = { { "check", 0, "sha256" },
		    { "seekable", 1, NULL } } },
		{ .level = 1, .rsyncable = true,
		    .settings = { { "check", 0, "none" } } },
	};
	const struct codec *codec = codec_by_name(f->name);
	static struct verdict v;
	uint8_t text[TEXT];

	text_of(text, TEXT);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct codec_options o = rows[i];
		struct stream s;
		char which[32];

		o.threads = 1;
		o.flush_ms = -1;
		if (convert(codec, false, &o, text, i == 6 ? 0 : TEXT, &v) != 0)
			continue;
		s.len = v.len;
		assert_true(s.len <= STREAM);
		memcpy(s.data, v.out, s.len);
		snprintf(which, sizeof(which), "row %zu", i);
		spoil(f, &s, which);
	}
}

/* The libraries' streams, with what ours never have */

static void
put_bits(struct stream *s, size_t *bit, const char *bits)
{
	for (; *bits != '\0'; bits++, ++*bit)
		s->data[*bit / 8] |= (uint8_t)((*bits - '0') << *bit % 8);
}

/*
 * A block with codes for a byte and the end alone: of one bit each, or of two, so
 * that others are missing.  None of these is used.
 */
static void
incomplete_codes(const struct format *f)
{
	static const uint8_t head[10] = { 0x1f, 0x8b, 8 };
	static struct verdict ours;

	for (int i = 0; i < 2; i++) {
		const char *len = i == 0 ? "10" : "11";
		struct codec_options o = { .threads = 1, .flush_ms = -1 };
		struct stream s = { .len = 0 };
		size_t bit = 8 * sizeof(head);

		memcpy(s.data, head, sizeof(head));
		/* the last block; 257 codes, 1 distance, 18 lengths */
		put_bits(&s, &bit, "1" "01" "00000" "00000" "0111");
		/* of symbol 18: 1; of 2 and 1: 2 */
		put_bits(&s, &bit, "000" "000" "100" "000000000000000000"
		    "000000000000000000" "010" "000" "010");
		/* 97 zeros, a length, 138 zeros, 20 zeros, a length, 1 */
		put_bits(&s, &bit, "0" "0110101");
		put_bits(&s, &bit, len);
		put_bits(&s, &bit, "0" "1111111" "0" "1001000");
		put_bits(&s, &bit, len);
		put_bits(&s, &bit, "10");
		put_bits(&s, &bit, i == 0 ? "001" : "000001");
		s.len = (bit + 7) / 8;
		store_le32(s.data + s.len, (uint32_t)crc32(0,
		    (const uint8_t *)"aa", 2));
		store_le32(s.data + s.len + 4, 2);
		s.len += 8;
		judge(f, s.data, s.len, 1, "incomplete codes", (size_t)i);
		assert_int_equal(convert(codec_by_name("gzip"), true, &o,
		    s.data, s.len, &ours), i == 0 ? 0 : -EBADMSG);
	}
}

static void
of_zlib(const struct format *f, uint8_t *text)
{
	/* a header with a checksum of its own, and nothing else */
	gz_header head = { .hcrc = 1 };
	z_stream z = { .next_in = text, .avail_in = TEXT };
	struct stream s;

	z.next_out = s.data;
	z.avail_out = STREAM;
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0), Z_OK);
	assert_int_equal(deflateSetHeader(&z, &head), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	s.len = z.total_out;
	deflateEnd(&z);
	spoil(f, &s, "zlib");
	incomplete_codes(f);
}

static void
of_libbz2(const struct format *f, uint8_t *text)
{
	unsigned n = STREAM;
	struct stream s;

	assert_int_equal(BZ2_bzBuffToBuffCompress((char *)s.data, &n,
	    (char *)text, TEXT, 1, 0, 0), BZ_OK);
	s.len = n;
	spoil(f, &s, "libbz2");
}

static void
of_liblzma(const struct format *f, uint8_t *text)
{
	lzma_stream l = LZMA_STREAM_INIT;
	lzma_options_lzma o;
	struct stream s = { .len = 0 };

	if (strcmp(f->name, "xz") == 0) {
		/* a block whose header has its sizes */
		assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32,
		    NULL, text, TEXT, s.data, &s.len, STREAM), LZMA_OK);
		spoil(f, &s, "liblzma");
		return;
	}
	/* with an end marker, and no size */
	lzma_lzma_preset(&o, 1);
	assert_int_equal(lzma_alone_encoder(&l, &o), LZMA_OK);
	l.next_in = text;
	l.avail_in = TEXT;
	l.next_out = s.data;
	l.avail_out = STREAM;
	while (lzma_code(&l, LZMA_FINISH) == LZMA_OK)
		;
	s.len = STREAM - l.avail_out;
	lzma_end(&l);
	spoil(f, &s, "liblzma");
}

static void
of_libzstd(const struct format *f, uint8_t *text)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	struct stream s;

	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	s.len = ZSTD_compress2(c, s.data, STREAM, text, TEXT);
	ZSTD_freeCCtx(c);
	spoil(f, &s, "libzstd");
}

static void
of_liblz4(const struct format *f, uint8_t *text)
{
	LZ4F_preferences_t p = { .frameInfo = {
	    .blockMode = LZ4F_blockLinked, .contentSize = TEXT,
	    .contentChecksumFlag = LZ4F_contentChecksumEnabled,
	    .blockChecksumFlag = LZ4F_blockChecksumEnabled } };
	struct stream s;

	s.len = LZ4F_compressFrame(s.data, STREAM, text, TEXT, &p);
	spoil(f, &s, "liblz4");
}

static void
ours(void **state)
{
	const struct format *f = *state;

	small = 0;
	of_ours(f);
	assert_int_equal(small > 0, strcmp(f->name, "xz") == 0);
}

static void
theirs(void **state)
{
	const struct format *f = *state;
	uint8_t text[TEXT];

	text_of(text, TEXT);
	if (f->theirs != NULL)
		f->theirs(f, text);
}

int
main(int argc, char **argv)
{
	int failed = 0;

	for (size_t i = 0; i < FORMATS; i++) {
		struct format f = formats[i];
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(ours, &f),
			cmocka_unit_test_prestate(theirs, &f),
		};

		if (argc < 2 || strcmp(argv[1], f.name) == 0)
			failed += cmocka_run_group_tests_name(f.name, tests,
			    NULL, NULL);
	}
	return failed;
}
