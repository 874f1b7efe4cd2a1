/*
 * seek_index_file.c - the contents of an index: points, and the file's identity
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "seek_index.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/stat.h>
#include <xxhash.h>

enum { SAMPLE = 64 << 10 };

static int
hash_sample(XXH64_state_t *x, uint8_t *buf, int fd, uint64_t at)
{
	ssize_t n = fdio_pread(fd, buf, SAMPLE, (off_t)at);

	if (n > 0)
		XXH64_update(x, buf, (size_t)n);
	return n < 0 ? (int)n : 0;
}

int
index_bind(struct index_binding *b, int fd, uint64_t len)
{
	XXH64_state_t *x = XXH64_createState();
	uint8_t *buf = sys_malloc(SAMPLE);
	struct stat st;
	int rc = x == NULL || buf == NULL ? -ENOMEM : 0;

	if (rc == 0 && fstat(fd, &st) == -1)
		rc = -errno;
	if (rc == 0) {
		*b = (struct index_binding){ .len = len,
		    .mtime = st.st_mtim.tv_sec,
		    .mtime_ns = (uint32_t)st.st_mtim.tv_nsec };
		XXH64_reset(x, 0);
		rc = hash_sample(x, buf, fd, 0);
	}
	if (rc == 0)
		rc = hash_sample(x, buf, fd, len / 2);
	if (rc == 0)
		rc = hash_sample(x, buf, fd, len > SAMPLE ? len - SAMPLE : 0);
	if (rc == 0)
		b->hash = XXH64_digest(x);
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
