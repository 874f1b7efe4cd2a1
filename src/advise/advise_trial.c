/*
 * advise_trial.c - one unit compressed with one candidate, and back
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams go through the coders of pzc, which cut them into the same blocks.
 */
#include "advise_frame.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "format/convert.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BTRFS_BLOCK = 128 << 10, FIRST_JOB = 8 << 20 };

/* Indices in the tables below. */
enum { ZSTD_9 = 6, IMAGE_ZSTD_9 = 5, ZFS_ZSTD_9_1M = 7, LAYERS_ZSTD_9 = 4,
	MAIL_ZSTD_9 = 5 };

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

static const struct advise_candidate zfs[] = {
	{ "lz4-128K", "lz4", 0, 128 << 10, 0, 0, 0 },
	{ "zstd-1-128K", "zstd", 1, 128 << 10, 0, 0, 0 },
	{ "zstd-3-128K", "zstd", 3, 128 << 10, 0, 0, 0 },
	{ "gzip-6-128K", "gzip", 6, 128 << 10, 0, 0, 0 },
	{ "zstd-9-128K", "zstd", 9, 128 << 10, 0, 0, 0 },
	{ "lz4-1M", "lz4", 0, 1 << 20, 0, 0, 0 },
	{ "zstd-3-1M", "zstd", 3, 1 << 20, 0, 0, 0 },
	{ "zstd-9-1M", "zstd", 9, 1 << 20, 0, 0, 0 },
	{ "zstd-19-1M", "zstd", 19, 1 << 20, 0, 0, ZFS_ZSTD_9_1M },
	{ .name = NULL }
};

/* What snapd accepts. */
static const struct advise_candidate snaps[] = {
#ifdef COLDPRESS_LZO
	{ "lzo", "lzo", 0, 128 << 10, 0, 0, 0 },
#endif
	{ "xz", "xz", 0, 128 << 10, 0, 0, 0 },
	{ .name = NULL }
};

/*
 * What registries and runtimes accept.  Those with blocks are eStargz and
 * zstd:chunked, as layerpack(1) makes them: a file can be read without the rest.
 */
static const struct advise_candidate layers[] = {
	{ "zstd-1", "zstd", 1, 0, 16, 512, 0 },
	{ "gzip-6", "gzip", 6, 0, 0, 0, 0 },
	{ "gzip-9", "gzip", 9, 0, 0, 0, 0 },
	{ "zstd-3", "zstd", 3, 0, 16, 2048, 0 },
	{ "zstd-9", "zstd", 9, 0, 24, 4096, 0 },
	{ "zstd-15", "zstd", 15, 0, 32, 4096, LAYERS_ZSTD_9 },
	{ "zstd-19", "zstd", 19, 0, 48, 8192, LAYERS_ZSTD_9 },
	{ "estargz", "gzip", 9, 4 << 20, 0, 0, 0 },
	{ "zstd-chunked", "zstd", 10, 1 << 20, 0, 0, 0 },
	{ .name = NULL }
};

/* What Dovecot's mail_compress writes. */
static const struct advise_candidate mails[] = {
	{ "zstd-1", "zstd", 1, 0, 16, 512, 0 },
	{ "lz4-1", "lz4", 1, 0, 0, 0, 0 },
	{ "gzip-6", "gzip", 6, 0, 0, 0, 0 },
	{ "gzip-9", "gzip", 9, 0, 0, 0, 0 },
	{ "zstd-3", "zstd", 3, 0, 16, 2048, 0 },
	{ "zstd-9", "zstd", 9, 0, 24, 4096, 0 },
	{ "zstd-19", "zstd", 19, 0, 48, 8192, MAIL_ZSTD_9 },
	{ "bzip2-9", "bzip2", 9, 0, 0, 0, 0 },
	{ .name = NULL }
};

const struct advise_candidate *
advise_candidates(enum advise_target target)
{
	static const struct advise_candidate *const of[ADVISE_TARGETS] = {
		[ADVISE_FILES] = streams, [ADVISE_STREAM] = streams,
		[ADVISE_SQUASHFS] = images, [ADVISE_BTRFS] = btrfs,
		[ADVISE_ZFS] = zfs, [ADVISE_SNAP] = snaps,
		[ADVISE_LAYERS] = layers, [ADVISE_MAIL_STORE] = mails,
	};

	return of[target];
}

bool
advise_in_parts(enum advise_target target, const struct advise_candidate *c)
{
	return target != ADVISE_STREAM && (target != ADVISE_LAYERS ||
	    c->block > 0);
}

double
advise_cpu_now(const struct advise_trial *trial)
{
	struct timespec t;

	clock_gettime(trial->beside ? CLOCK_THREAD_CPUTIME_ID :
	    CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

size_t
advise_history(const struct advise_candidate *c, uint64_t offset, size_t len)
{
	double window = (double)c->window_KiB * 1024, part = (double)len;
	double reach = (double)advise_reach(c, offset), mean, until;

	/*
	 * zstd lets a part refer to all of its history until it is as long as
	 * the window itself, so what it can refer to grows with it; in a stream,
	 * that ends at the window.
	 */
	if (part > window)
		part = window;
	until = window - reach;
	if (strcmp(c->format, "zstd") != 0 || part <= until || reach == 0)
		return (size_t)reach;
	mean = (reach * until + until * until / 2 + window * (part - until)) /
	    part;
	return (size_t)fmax(0, mean - part / 2);
}

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

/* Through pzc's own coder, from memory to memory. */
static int
run_stream(const struct advise_candidate *c, const uint8_t *data, size_t len,
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
	t->cpu_s = -advise_cpu_now(t);
	rc = convert_run(&one, &in, fd, &r);
	t->cpu_s += advise_cpu_now(t);
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
	t->back_cpu_s = -advise_cpu_now(t);
	/* every format but lzma has a checksum, which is compared here */
	rc = convert_run(&one, &in, -1, &r);
	t->back_cpu_s += advise_cpu_now(t);
	input_close(&in);
	sys_close(fd);
	return rc == 0 && r.stats.out_bytes != len ? -EIO : rc;
}

double
advise_memory(const struct advise_candidate *c, double len, double size)
{
	struct convert one = { .codec = codec_by_name(c->format),
		.options = { .level = c->level, .threads = 1 } };
	struct memory_plan p;
	const char *why;
	uint64_t most;

	if (convert_plan(&one, &p, &most, &why) != 0)
		return 0;
	/* tables, and slots, which a long stream uses again and again */
	return (double)(p.fixed_B + p.worker_B) +
	    fmin((double)p.slots * (double)p.slot_B, len + size);
}

static int
try_stream(const struct advise_candidate *c, const uint8_t *data, size_t len,
    struct advise_trial *t)
{
	struct advise_trial least = { .beside = t->beside };
	int rc = run_stream(c, data, len, t);

	/* a part of a stream does not start a coder of its own */
	if (rc == 0 && t->part && t->timed && len > 1) {
		rc = run_stream(c, data, 1, &least);
		t->cpu_s = fmax(0, t->cpu_s - least.cpu_s);
		t->back_cpu_s = fmax(0, t->back_cpu_s - least.back_cpu_s);
	}
	return rc;
}

/*
 * A part of a stream, after the bytes before it, by the library alone; what
 * pzc adds to that, reading, checksums and writing, hardly depends on the
 * candidate: the first one measures it, for all.
 */
static int
try_part(const struct advise_candidate *c, const uint8_t *data, size_t len,
    size_t before, struct advise_trial *t)
{
	int rc = advise_after(c, data, len, before, t);

	if (rc == 0 && t->timed && isnan(t->io_s)) {
		struct advise_trial whole = { .timed = true, .part = true,
			.beside = t->beside }, bare = whole;

		rc = try_stream(c, data, len, &whole);
		if (rc == 0)
			rc = advise_after(c, data, len, 0, &bare);
		t->io_s = fmax(0, whole.cpu_s - bare.cpu_s);
		t->back_io_s = fmax(0, whole.back_cpu_s - bare.back_cpu_s);
	}
	if (rc == 0 && t->timed) {
		t->cpu_s += t->io_s;
		t->back_cpu_s += t->back_io_s;
	}
	return rc;
}

int
advise_try(enum advise_target target, const struct advise_candidate *c,
    const uint8_t *data, size_t len, size_t before, struct advise_trial *t)
{
	double start;
	int rc;

	start = advise_cpu_now(t);
	*t = (struct advise_trial){ .timed = t->timed, .beside = t->beside,
		.part = t->part, .first = t->first, .io_s = t->io_s,
		.back_io_s = t->back_io_s };
	if (target == ADVISE_BTRFS)
		rc = advise_try_chunks(c, data, len, t);
	else if (target == ADVISE_ZFS)
		rc = advise_try_records(c, data, len, t);
	else if (target == ADVISE_LAYERS && c->block > 0)
		rc = advise_try_pieces(c, data, len, t);
	else if (!advise_is_stream(target))
		rc = advise_try_blocks(c, data, len, t);
	else if (t->part && c->job_MiB > 0)
		rc = try_part(c, data, len, before, t);
	else
		rc = try_stream(c, data, len, t);
	t->spent_s = advise_cpu_now(t) - start;
	return rc;
}
