/*
 * seek_index.c - reading ranges of gzip files through a side index
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This file reads and checks an index; seek_index_part.c builds a stream from
 * the data between two of its points.
 */
#include "seek_index.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "format/seek_formats.h"

#include <errno.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { SAMPLE = 64 << 10 };

int
index_bind(struct index_binding *b, int fd, uint64_t len)
{
	const uint64_t places[] = { 0, len / 2,
	    len > SAMPLE ? len - SAMPLE : 0 };
	XXH64_state_t *x = XXH64_createState();
	uint8_t *buf = sys_malloc(SAMPLE);
	struct stat st;
	int rc = -ENOMEM;

	if (x == NULL || buf == NULL)
		goto out;
	rc = fstat(fd, &st) == -1 ? -errno : 0;
	if (rc != 0)
		goto out;
	XXH64_reset(x, 0);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		ssize_t n = fdio_pread(fd, buf, SAMPLE, (off_t)places[i]);

		if (n < 0) {
			rc = (int)n;
			goto out;
		}
		XXH64_update(x, buf, (size_t)n);
	}
	*b = (struct index_binding){ .len = len, .mtime = st.st_mtim.tv_sec,
	    .mtime_ns = (uint32_t)st.st_mtim.tv_nsec,
	    .hash = XXH64_digest(x) };
out:
	XXH64_freeState(x);
	sys_free(buf);
	return rc;
}

bool
index_bound(const struct index_binding *a, const struct index_binding *b)
{
	return a->len == b->len && a->mtime == b->mtime &&
	    a->mtime_ns == b->mtime_ns && a->hash == b->hash;
}

void
index_point_store(const struct index_point *p, uint8_t *to)
{
	store_le64(to, p->plain);
	store_le64(to + 8, p->bit);
	store_le64(to + 16, p->member);
	store_le64(to + 24, p->window);
	store_le32(to + 32, p->packed);
	store_le32(to + 36, p->crc);
}

void
index_point_load(struct index_point *p, const uint8_t *from)
{
	p->plain = load_le64(from);
	p->bit = load_le64(from + 8);
	p->member = load_le64(from + 16);
	p->window = load_le64(from + 24);
	p->packed = load_le32(from + 32);
	p->crc = load_le32(from + 36);
}

/* Checks that the index matches this file in its current state. */
static int
check_binding(const struct seek_map *m, const uint8_t *head)
{
	struct index_binding now, then = { .len = load_le64(head + 24),
	    .mtime = (int64_t)load_le64(head + 32),
	    .mtime_ns = load_le32(head + 40),
	    .hash = load_le64(head + 48) };
	int rc = index_bind(&now, m->fd, m->len);

	return rc != 0 ? rc : index_bound(&then, &now) ? 0 : -ESTALE;
}

static int
check_hash(const uint8_t *head, const uint8_t *points, size_t len)
{
	XXH64_state_t *x = XXH64_createState();
	uint64_t hash;

	if (x == NULL)
		return -ENOMEM;
	XXH64_reset(x, 0);
	XXH64_update(x, head, INDEX_HEAD - 8);
	XXH64_update(x, points, len);
	hash = XXH64_digest(x);
	XXH64_freeState(x);
	return hash == load_le64(head + INDEX_HEAD - 8) ? 0 : -EBADMSG;
}

static int
add_point(struct seek_map *m, const struct index *x, size_t i)
{
	struct index_point p;
	bool within;

	index_point_load(&p, x->points + i * INDEX_POINT);
	within = p.packed != 0;
	if (p.bit / 8 > m->len || p.member > p.bit / 8 ||
	    within == (p.member == p.bit / 8) ||
	    (!within && p.bit % 8 != 0) ||
	    p.packed > INDEX_WINDOW_PACKED || (within &&
	    (p.window < INDEX_HEAD || p.window > x->windows_end ||
	    p.packed > x->windows_end - p.window)))
		return -EBADMSG;
	return seek_add(m, (struct seek_unit){ p.plain, p.bit / 8,
	    p.member });
}

static int
add_points(struct seek_map *m, const struct index *x, size_t count)
{
	struct index_point end;
	int rc = 0;

	/* keep all units: there is one for each point */
	m->spacing = 0;
	for (size_t i = 0; rc == 0 && i + 1 < count; i++)
		rc = add_point(m, x, i);
	if (rc != 0)
		return rc;
	index_point_load(&end, x->points + (count - 1) * INDEX_POINT);
	rc = end.bit % 8 != 0 ? -EBADMSG :
	    seek_end(m, end.plain, end.bit / 8);
	return rc == 0 && m->count != count ? -EBADMSG : rc;
}

static int
load_points(struct seek_map *m, struct index *x, const uint8_t *head)
{
	size_t count = load_le32(head + 12), len = count * INDEX_POINT;
	ssize_t n;
	int rc;

	if (count < 2 || count > SEEK_UNITS_MAX - 4 ||
	    x->len < INDEX_HEAD + len)
		return -EBADMSG;
	x->windows_end = x->len - len;
	x->points = sys_malloc(len);
	if (x->points == NULL)
		return -ENOMEM;
	n = fdio_pread(m->index_fd, x->points, len, (off_t)x->windows_end);
	if (n < (ssize_t)len)
		return n < 0 ? (int)n : -EBADMSG;
	rc = check_hash(head, x->points, len);
	return rc != 0 ? rc : add_points(m, x, count);
}

static int
map_index(struct seek_map *m)
{
	uint8_t head[INDEX_HEAD];
	struct index *x;
	struct stat st;
	ssize_t n = fdio_pread(m->index_fd, head, sizeof(head), 0);
	int rc;

	if (n < INDEX_HEAD || fstat(m->index_fd, &st) == -1)
		return n < 0 ? (int)n : -EBADMSG;
	if (load_le64(head) != INDEX_MAGIC ||
	    load_le32(head + 8) != INDEX_VERSION ||
	    load_le64(head + 16) != (uint64_t)st.st_size)
		return -EBADMSG;
	rc = check_binding(m, head);
	if (rc != 0)
		return rc;
	x = sys_calloc(1, sizeof(*x));
	if (x == NULL)
		return -ENOMEM;
	m->own = x;
	m->how = "points in the side index";
	m->checked = true;
	x->len = (uint64_t)st.st_size;
	return load_points(m, x, head);
}

static void
close_map(struct seek_map *m)
{
	struct index *x = m->own;

	sys_free(x->points);
	sys_free(x);
}

const struct codec_seek index_seek = { .map = map_index, .part = index_part,
    .close = close_map };
