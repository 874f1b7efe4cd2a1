/*
 * fuzz_decode.c - every decoder, with one thread and with two, and -l
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects whether the rest is used as a stream, or is
 * compressed, damaged at one or two positions, and possibly doubled; for gzip,
 * its checksum, size and member length may then be corrected.  If undamaged, it
 * must decode to the original.  Decoding with one thread, with two threads, and
 * with two threads and little memory must agree on whether the stream is valid
 * and on its content; for gzip, also with zlib.
 */
#include "base/bytes.h"
#include "format/codec.h"
#include "format/convert.h"
#include "format/gzip/gzip.h"
#include "format/skippable.h"

#include <errno.h>
#include <libdeflate.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decoding stops at this size, because of decompression bombs. */
enum { MOST = 8 << 20, CONTROLS = 8, LITTLE = 6 << 20 };

struct bytes {
	uint8_t *p;
	size_t len;
	int rc;
	bool garbage;
};

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct rlimit r = { MOST, RLIM_INFINITY };

	(void)argc;
	(void)argv;
	if (setrlimit(RLIMIT_FSIZE, &r) != 0)
		abort();
	return 0;
}

static int
file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("in", 0);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static struct bytes
convert(const struct codec *codec, bool decompress,
    const struct codec_options *o, const uint8_t *data, size_t size)
{
	struct convert c = { .codec = codec, .decompress = decompress,
	    .options = *o, .memory = o->memory };
	int in_fd = file_of(data, size), out_fd = memfd_create("out", 0);
	struct convert_result r;
	struct bytes b = { .rc = 0 };
	struct input in;

	if (out_fd < 0 || input_open(&in, in_fd) != 0 ||
	    (decompress && skippable_shorten(&in) != 0))
		abort();
	b.rc = convert_run(&c, &in, out_fd, &r);
	b.garbage = r.notes.trailing_garbage;
	b.len = (size_t)lseek(out_fd, 0, SEEK_END);
	b.p = malloc(b.len + 1);
	if (b.p == NULL || pread(out_fd, b.p, b.len, 0) != (ssize_t)b.len)
		abort();
	input_close(&in);
	close(in_fd);
	close(out_fd);
	return b;
}

static struct bytes
decode(const struct codec *codec, unsigned threads, uint64_t memory,
    const uint8_t *data, size_t size)
{
	struct codec_options o = { .threads = threads, .flush_ms = -1,
	    .window_max = 8 << 20, .memory = memory };

	/* small enough to decode some pieces from the middle */
	if (codec_set(&o, "piece", 1024, NULL) != 0)
		abort();
	return convert(codec, true, &o, data, size);
}

/* Decodes all gzip members with zlib. */
static struct bytes
by_zlib(const uint8_t *data, size_t size)
{
	z_stream z = { .next_in = (z_const Bytef *)(uintptr_t)data,
	    .avail_in = (uInt)size };
	struct bytes b = { .p = malloc(MOST) };
	int rc;

	if (b.p == NULL || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		abort();
	z.next_out = b.p;
	z.avail_out = MOST;
	while ((rc = inflate(&z, Z_FINISH)) == Z_STREAM_END &&
	    z.avail_in >= 2 && z.next_in[0] == 0x1f && z.next_in[1] == 0x8b)
		inflateReset(&z);
	b.len = MOST - z.avail_out;
	b.rc = rc == Z_STREAM_END ? 0 : z.avail_out == 0 ? -EFBIG : -EBADMSG;
	inflateEnd(&z);
	return b;
}

static void
must_agree(const struct bytes *a, const struct bytes *b)
{
	if (a->rc == -EFBIG || b->rc == -EFBIG || a->rc == -ENOMEM ||
	    b->rc == -ENOMEM)
		return;
	if ((a->rc == 0) != (b->rc == 0))
		abort();
	if (a->rc == 0 && (a->len != b->len || memcmp(a->p, b->p, a->len)))
		abort();
}

static void
list(const struct codec *codec, const uint8_t *data, size_t size)
{
	struct codec_listing l = { .size = 0 };
	int fd = file_of(data, size);

	if (codec->list != NULL)
		codec->list(fd, size, &l);
	close(fd);
}

/* Decodes a stream; good, if not NULL, points to the expected verdict. */
static void
try_stream(const uint8_t *data, size_t size, const struct bytes *good)
{
	const struct codec *codec = codec_by_magic(data, size < CODEC_MAGIC_MAX
	    ? size : CODEC_MAGIC_MAX);
	struct bytes one, two, little, other;

	if (codec == NULL)
		return;
	list(codec, data, size);
	one = decode(codec, 1, 0, data, size);
	two = decode(codec, 2, 0, data, size);
	/* -EFBIG is also acceptable */
	little = decode(codec, 2, LITTLE, data, size);
	must_agree(&one, &two);
	must_agree(&one, &little);
	free(little.p);
	if (good != NULL)
		must_agree(&one, good);
	if (strcmp(codec->name, "gzip") == 0) {
		other = by_zlib(data, size);
		/* zlib rejects garbage that begins like a member */
		if (!one.garbage)
			must_agree(&one, &other);
		free(other.p);
	}
	free(one.p);
	free(two.p);
}

static const struct codec *
writer(unsigned n)
{
	static const char *const names[] = { "gzip", "zstd", "bzip2", "xz",
	    "lz4", "zlib", "zip", "lzma" };

	return codec_by_name(names[n % 8]);
}

/* Offsets of a PM subfield that comes first, and of its value. */
enum { PM_AT = 12, PM_VALUE = 16 };

/*
 * Corrects the members' trailers, and the lengths in their headers, as computed
 * by libdeflate, which accepts some members that zlib does not.
 */
static void
repair(uint8_t *p, size_t len)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *out = malloc(MOST);
	struct gzip_header h;
	size_t used, made;

	if (d == NULL || out == NULL)
		abort();
	while (gzip_header_parse(&h, p, len) == 1 &&
	    libdeflate_deflate_decompress_ex(d, p + h.len, len - h.len, out,
	    MOST, &used, &made) == LIBDEFLATE_SUCCESS &&
	    len - h.len - used >= GZIP_TRAILER) {
		used += h.len;
		store_le32(p + used, libdeflate_crc32(0, out, made));
		store_le32(p + used + 4, (uint32_t)made);
		used += GZIP_TRAILER;
		if (h.member != 0 && memcmp(p + PM_AT, "PM", 2) == 0)
			store_le32(p + PM_VALUE, (uint32_t)used);
		p += used;
		len -= used;
	}
	libdeflate_free_decompressor(d);
	free(out);
}

/*
 * The control bytes: operation, format and options; then, twice, the position
 * of the damage, in units of 1/65536 of the length, and its value.
 */
static void
try_broken(const uint8_t *c, const uint8_t *data, size_t size)
{
	struct codec_options o = { .level = 1, .threads = 1, .flush_ms = -1,
	    .name = c[1] & 0x20 ? "name" : NULL };
	struct bytes plain = { .len = size }, packed, twice;
	const struct codec *codec = writer(c[1] & 7);
	bool legacy = codec->name[0] == 'l' && (c[1] & 0xc0) == 0x80;

	codec_set(&o, "block-check", codec->name[0] == 'l' && c[1] & 0x40,
	    NULL);
	codec_set(&o, "legacy", legacy, NULL);
	/* legacy frames cannot follow each other */
	o.independent = c[1] & 0x10 && !legacy;
	/* small blocks where supported, so that there are more of them */
	if (codec->name[0] == 'g' || codec->name[0] == 'z')
		o.block = 1024;
	plain.p = (uint8_t *)(uintptr_t)data;
	packed = convert(codec, false, &o, data, size);
	if (packed.rc != 0 || packed.len == 0)
		abort();
	if (c[0] & 2)
		packed.p[load_le16(c + 2) % packed.len] ^= c[4];
	if (c[0] & 4)
		packed.p[load_le16(c + 5) % packed.len] ^= c[7];
	if (c[0] & 8)
		packed.len = load_le16(c + 2) % packed.len;
	if ((c[0] & 32) && strcmp(codec->name, "gzip") == 0)
		repair(packed.p, packed.len);
	try_stream(packed.p, packed.len, c[0] & 14 ? NULL : &plain);
	if (c[0] & 16) {
		twice.len = 2 * packed.len;
		twice.p = malloc(twice.len + 1);
		if (twice.p == NULL)
			abort();
		memcpy(twice.p, packed.p, packed.len);
		memcpy(twice.p + packed.len, packed.p, packed.len);
		try_stream(twice.p, twice.len, NULL);
		free(twice.p);
	}
	free(packed.p);
}

/* Tests the stream unchanged or, for gzip, with its checks corrected. */
static void
try_given(const uint8_t *data, size_t size, bool repaired)
{
	uint8_t *p = malloc(size + 1);

	if (p == NULL)
		abort();
	memcpy(p, data, size);
	if (repaired)
		repair(p, size);
	try_stream(p, size, NULL);
	free(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < CONTROLS)
		return 0;
	/*
	 * libFuzzer sets its own handler before this point, and that handler
	 * would end the whole run
	 */
	signal(SIGXFSZ, SIG_IGN);
	if (data[0] & 1)
		try_given(data + 1, size - 1, data[0] & 32);
	else
		try_broken(data, data + CONTROLS, size - CONTROLS);
	return 0;
}
