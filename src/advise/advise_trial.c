/*
 * advise_trial.c - one unit compressed with one candidate, and back
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams go through the coders of pzc, which cut them into the same blocks;
 * blocks of filesystems through the packers of fsratio.
 */
#define ZSTD_STATIC_LINKING_ONLY	/* ZSTD_getCParams() */

#include "advise/advise.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "engine/packer/packer.h"
#include "fs/fs_model.h"
#include "format/convert.h"

#include <errno.h>
#include <lz4.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <zlib.h>
#include <zstd.h>

enum { BTRFS_BLOCK = 128 << 10, BTRFS_PAGE = 4096, FIRST_JOB = 8 << 20 };

/* Indices in the tables below. */
enum { ZSTD_9 = 6, IMAGE_ZSTD_9 = 5 };

/* Streams, for files and tar; jobs and windows as in pzc(1). */
static const struct advise_candidate streams[] = {
	{ "zstd-1", "zstd", 1, 0, 16, 512, 0 },
	{ "lz4-1", "lz4", 1, 0, 0, 0, 0 },
	{ "gzip-1", "gzip", 1, 0, 0, 0, 0 },
	{ "gzip-6", "gzip", 6, 0, 0, 0, 0 },
	{ "gzip-9", "gzip", 9, 0, 0, 0, 0 },
	{ "zstd-3", "zstd", 3, 0, 16, 2048, 0 },
	{ "zstd-9", "zstd", 9, 0, 24, 4096, 0 },
	{ "zstd-15", "zstd", 15, 0, 32, 4096, ZSTD_9 },
	{ "zstd-19", "zstd", 19, 0, 48, 8192, ZSTD_9 },
	{ "bzip2-9", "bzip2", 9, 0, 0, 0, 0 },
	{ "xz-6", "xz", 6, 0, 24, 8192, ZSTD_9 },
	{ .name = NULL }
};

static const struct advise_candidate images[] = {
	{ "zstd-1", "zstd", 1, 128 << 10, 0, 0, 0 },
	{ "lz4", "lz4", 0, 128 << 10, 0, 0, 0 },
	{ "gzip-6", "gzip", 6, 128 << 10, 0, 0, 0 },
	{ "gzip-9", "gzip", 9, 128 << 10, 0, 0, 0 },
	{ "zstd-3", "zstd", 3, 128 << 10, 0, 0, 0 },
	{ "zstd-9", "zstd", 9, 128 << 10, 0, 0, 0 },
	{ "zstd-15", "zstd", 15, 128 << 10, 0, 0, IMAGE_ZSTD_9 },
	{ "zstd-19", "zstd", 19, 128 << 10, 0, 0, IMAGE_ZSTD_9 },
	{ "zstd-15-1M", "zstd", 15, 1 << 20, 0, 0, IMAGE_ZSTD_9 },
	{ "zstd-19-1M", "zstd", 19, 1 << 20, 0, 0, IMAGE_ZSTD_9 },
	{ "xz", "xz", 0, 128 << 10, 0, 0, IMAGE_ZSTD_9 },
	{ "xz-1M", "xz", 0, 1 << 20, 0, 0, IMAGE_ZSTD_9 },
	{ .name = NULL }
};

static const struct advise_candidate btrfs[] = {
	{ "zstd-1", "zstd", 1, BTRFS_BLOCK, 0, 0, 0 },
	{ "zlib-3", "zlib", 3, BTRFS_BLOCK, 0, 0, 0 },
	{ "zlib-9", "zlib", 9, BTRFS_BLOCK, 0, 0, 0 },
	{ "zstd-3", "zstd", 3, BTRFS_BLOCK, 0, 0, 0 },
	{ "zstd-9", "zstd", 9, BTRFS_BLOCK, 0, 0, 0 },
	{ "zstd-15", "zstd", 15, BTRFS_BLOCK, 0, 0, 0 },
	{ .name = NULL }
};

const struct advise_candidate *
advise_candidates(enum advise_target target)
{
	static const struct advise_candidate *const of[ADVISE_TARGETS] = {
		[ADVISE_FILES] = streams, [ADVISE_STREAM] = streams,
		[ADVISE_SQUASHFS] = images, [ADVISE_BTRFS] = btrfs,
	};

	return of[target];
}

static double
cpu_now(const struct advise_trial *trial)
{
	struct timespec t;

	clock_gettime(trial->beside ? CLOCK_THREAD_CPUTIME_ID :
	    CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Decompresses a block of n bytes to `to`.  Returns its length; 0: it fails. */
static size_t
back_zlib(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	uLongf len = room;

	return uncompress(to, &len, from, n) == Z_OK ? len : 0;
}

static size_t
back_zstd(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	size_t len = ZSTD_decompress(to, room, from, n);

	return ZSTD_isError(len) ? 0 : len;
}

static size_t
back_lz4(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	int len = LZ4_decompress_safe((const char *)from, (char *)to, (int)n,
	    (int)room);

	return len < 0 ? 0 : (size_t)len;
}

static size_t
back_xz(const uint8_t *from, size_t n, uint8_t *to, size_t room)
{
	uint64_t limit = UINT64_MAX;
	size_t at = 0, len = 0;

	return lzma_stream_buffer_decode(&limit, 0, NULL, from, &at, n, to,
	    &len, room) == LZMA_OK ? len : 0;
}

static const struct {
	const char *format;
	size_t (*back)(const uint8_t *from, size_t n, uint8_t *to, size_t room);
} decoders[] = { { "gzip", back_zlib }, { "zlib", back_zlib },
    { "zstd", back_zstd }, { "lz4", back_lz4 }, { "xz", back_xz } };

/* Bytes in memory, read like a file. */
struct memory {
	const uint8_t *data;
	size_t len;
};

static ssize_t
read_memory(void *arg, void *buf, size_t len)
{
	struct memory *m = arg;

	if (len > m->len)
		len = m->len;
	memcpy(buf, m->data, len);
	m->data += len;
	m->len -= len;
	return (ssize_t)len;
}

size_t
advise_reach(const struct advise_candidate *c, uint64_t offset)
{
	uint64_t job = (uint64_t)c->job_MiB << 20, at;

	if (job == 0)
		return 0;
	/* of a zstd file's jobs of 16 MiB, the first two are halves */
	at = offset % job;
	if (strcmp(c->format, "zstd") == 0 && job == 2 * FIRST_JOB &&
	    offset < job)
		at = offset % FIRST_JOB;
	job = (uint64_t)c->window_KiB << 10;
	return (size_t)(at < job ? at : job);
}

/* Returns the size of data after the bytes before it; 0 if it fails. */
static size_t
zstd_after(int level, const uint8_t *data, size_t len, size_t before,
    uint8_t *to, size_t room)
{
	const ZSTD_compressionParameters p = ZSTD_getCParams(level, 0, 0);
	const struct {
		ZSTD_cParameter parameter;
		int value;
	} set[] = { { ZSTD_c_compressionLevel, level },
	    { ZSTD_c_windowLog, (int)p.windowLog },
	    { ZSTD_c_chainLog, (int)p.chainLog },
	    { ZSTD_c_hashLog, (int)p.hashLog },
	    { ZSTD_c_searchLog, (int)p.searchLog },
	    { ZSTD_c_minMatch, (int)p.minMatch },
	    { ZSTD_c_targetLength, (int)p.targetLength },
	    { ZSTD_c_strategy, (int)p.strategy } };
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t n = 0;

	if (c == NULL)
		return 0;
	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++)
		ZSTD_CCtx_setParameter(c, set[i].parameter, set[i].value);
	if (!ZSTD_isError(ZSTD_CCtx_refPrefix(c, data - before, before)))
		n = ZSTD_compress2(c, to, room, data, len);
	ZSTD_freeCCtx(c);
	return ZSTD_isError(n) ? 0 : n;
}

static size_t
xz_after(int level, const uint8_t *data, size_t len, size_t before,
    uint8_t *to, size_t room)
{
	lzma_options_lzma o;
	const lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &o },
	    { LZMA_VLI_UNKNOWN, NULL } };
	size_t n = 0;

	lzma_lzma_preset(&o, (uint32_t)level);
	o.preset_dict = data - before;
	o.preset_dict_size = (uint32_t)before;
	return lzma_raw_buffer_encode(filters, NULL, data, len, to, &n,
	    room) == LZMA_OK ? n : 0;
}

/* Measures what data adds to the bytes before it. */
static int
try_after(const struct advise_candidate *c, const uint8_t *data, size_t len,
    size_t before, struct advise_trial *t)
{
	size_t room = ZSTD_compressBound(len) + len / 16;
	uint8_t *to = sys_malloc(room);

	if (to == NULL)
		return -ENOMEM;
	t->size = (strcmp(c->format, "zstd") == 0 ? zstd_after : xz_after)
	    (c->level, data, len, before, to, room);
	sys_free(to);
	return t->size == 0 ? -EIO : 0;
}

/*
 * A block of an xz file, without liblzma's threads, whose CPU time is not that
 * of the caller.
 */
static int
try_xz(const struct advise_candidate *c, const uint8_t *data, size_t len,
    struct advise_trial *t)
{
	size_t room = lzma_stream_buffer_bound(len), n = 0;
	uint8_t *to = sys_malloc(room), *again = sys_malloc(len);
	int rc = to == NULL || again == NULL ? -ENOMEM : 0;

	t->cpu_s = -cpu_now(t);
	if (rc == 0 && lzma_easy_buffer_encode((uint32_t)c->level,
	    LZMA_CHECK_CRC64, NULL, data, len, to, &n, room) != LZMA_OK)
		rc = -EIO;
	t->cpu_s += cpu_now(t);
	t->size = n;
	t->back_cpu_s = -cpu_now(t);
	if (rc == 0 && back_xz(to, n, again, len) != len)
		rc = -EIO;
	t->back_cpu_s += cpu_now(t);
	sys_free(to);
	sys_free(again);
	return rc;
}

static int
try_stream(const struct advise_candidate *c, const uint8_t *data, size_t len,
    struct advise_trial *t)
{
	struct memory m = { data, len };
	struct convert one = { .codec = codec_by_name(c->format),
		.options = { .level = c->level, .threads = 1 } };
	struct convert_result r;
	struct input in;
	int fd = memfd_create("advise", MFD_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = input_open_from(&in, read_memory, &m);
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	t->cpu_s = -cpu_now(t);
	rc = convert_run(&one, &in, fd, &r);
	t->cpu_s += cpu_now(t);
	input_close(&in);
	if (rc == 0 && sys_lseek(fd, 0, SEEK_SET) != 0)
		rc = -EIO;
	if (rc == 0)
		rc = input_open(&in, fd);
	if (rc != 0) {
		sys_close(fd);
		return rc;
	}
	t->size = r.stats.out_bytes;
	one.decompress = true;
	one.options.window_max = (uint64_t)1 << CODEC_WINDOW_LOG_MAX;
	t->back_cpu_s = -cpu_now(t);
	/* every format but lzma has a checksum, which is compared here */
	rc = convert_run(&one, &in, -1, &r);
	t->back_cpu_s += cpu_now(t);
	input_close(&in);
	sys_close(fd);
	return rc == 0 && r.stats.out_bytes != len ? -EIO : rc;
}

/* What a filesystem allocates for n bytes of which `packed` are left. */
static size_t
stored(enum advise_target target, size_t n, size_t packed)
{
	if (target != ADVISE_BTRFS)
		return packed == 0 ? n : packed;
	n = (n + BTRFS_PAGE - 1) / BTRFS_PAGE * BTRFS_PAGE;
	packed = (packed + BTRFS_PAGE - 1) / BTRFS_PAGE * BTRFS_PAGE;
	/* a page must be saved */
	return packed == 0 || packed >= n ? n : packed;
}

/*
 * Measures how long it takes to decompress a block, as mksquashfs compresses
 * it, since sqpack's packers keep their output to themselves; the level hardly
 * matters for that.
 */
static int
time_back(const char *format, const struct packer_kind *kinds,
    const uint8_t *data, size_t len, uint8_t *to, struct advise_trial *t)
{
	struct packer_name name;
	struct packer *p = NULL;
	char text[32];
	size_t k = 0, packed;
	double start;
	int rc;

	while (strcmp(decoders[k].format, format) != 0)
		k++;
	snprintf(text, sizeof(text), strcmp(format, "lz4") == 0 ||
	    strcmp(format, "xz") == 0 ? "%s" : "%s-3", format);
	rc = packer_by_name(kinds, text, &name);
	if (rc == 0)
		rc = packer_open(&p, &name, len);
	if (rc != 0)
		return rc;
	packed = packer_pack(p, data, len, len);
	start = cpu_now(t);
	if (packed > 0 && (decoders[k].back(packer_out(p), packed, to, len) !=
	    len || memcmp(to, data, len) != 0))
		rc = -EIO;
	t->back_cpu_s += cpu_now(t) - start;
	packer_close(p);
	return rc;
}

static int
try_blocks(enum advise_target target, const struct advise_candidate *c,
    const uint8_t *data, size_t len, struct advise_trial *t)
{
	const struct packer_kind *kinds = target == ADVISE_BTRFS ?
	    packers_btrfs : fs_model_sqpack.kinds;
	struct packer_name name;
	struct packer *p = NULL;
	uint8_t *to;
	char text[32];
	int rc;

	/* xz has no levels; zstd-19-1M differs from zstd-19 in its block */
	snprintf(text, sizeof(text), c->level > 0 ? "%s-%d" : "%s", c->format,
	    c->level);
	rc = packer_by_name(kinds, text, &name);
	if (rc == 0)
		rc = packer_open(&p, &name, c->block);
	if (rc != 0)
		return rc;
	to = sys_malloc(c->block);
	if (to == NULL)
		rc = -ENOMEM;
	for (size_t at = 0; at < len && rc == 0; at += c->block) {
		size_t n = len - at < c->block ? len - at : c->block;
		double start = cpu_now(t);

		t->size += stored(target, n, packer_pack(p, data + at, n,
		    c->block));
		t->cpu_s += cpu_now(t) - start;
		if (t->timed)
			rc = time_back(c->format, target == ADVISE_BTRFS ?
			    packers_btrfs : packers_squashfs, data + at, n,
			    to, t);
	}
	packer_close(p);
	sys_free(to);
	return rc;
}

int
advise_try(enum advise_target target, const struct advise_candidate *c,
    const uint8_t *data, size_t len, size_t before, struct advise_trial *t)
{
	double start;
	bool stream = target == ADVISE_FILES || target == ADVISE_STREAM;
	int rc = 0;

	start = cpu_now(t);
	*t = (struct advise_trial){ .timed = t->timed, .beside = t->beside };
	if (!stream)
		rc = try_blocks(target, c, data, len, t);
	else if (before == 0 || t->timed)
		rc = t->beside && strcmp(c->format, "xz") == 0 ?
		    try_xz(c, data, len, t) : try_stream(c, data, len, t);
	if (rc == 0 && stream && before > 0)
		rc = try_after(c, data, len, before, t);
	t->spent_s = cpu_now(t) - start;
	return rc;
}
