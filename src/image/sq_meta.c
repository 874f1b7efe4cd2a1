/*
 * sq_meta.c - tables of metadata blocks, unpacked by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A metadata block is two bytes, its length and whether it is stored raw, and
 * then at most 8 KiB, which are 8 KiB once unpacked unless it is the last of
 * its table.  Records run on from block to block, so the blocks of a table
 * are unpacked side by side, and a record is found by one sum and never
 * copied.  A block that cannot be unpacked keeps its place.
 */
#include "sq.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>
#include <string.h>

enum {
	RAW = 0x8000,			/* in the header */
	BLOCKS_MAX = SQUASHFS_TABLE_MAX / SQUASHFS_META_B,
	BATCH = 4,			/* blocks that a thread takes */
	THREADS_MAX = 64,
};

/* The unpacking of some tables. */
struct job {
	const struct squashfs *q;
	struct sq_meta *const *metas;
	size_t count;			/* of metas */
	atomic_size_t next;		/* block, counted through all metas */
	atomic_int err;
};

static int
add_block(struct sq_meta *m, uint64_t at)
{
	if (m->count == BLOCKS_MAX)
		return -EFBIG;
	if (m->count == m->cap) {
		size_t cap = m->cap == 0 ? 64 : 2 * m->cap;
		struct sq_meta_block *b = sys_realloc(m->blocks,
		    cap * sizeof(*b));

		if (b == NULL)
			return -ENOMEM;
		m->blocks = b;
		m->cap = cap;
	}
	m->blocks[m->count++] = (struct sq_meta_block){ .at = (uint32_t)at };
	return 0;
}

static int
read_packed(struct squashfs *q, struct sq_meta *m, uint64_t start,
    uint64_t end)
{
	if (end - start > (uint64_t)BLOCKS_MAX * (SQUASHFS_META_B + 2))
		return -EFBIG;
	m->start = start;
	m->packed_len = end - start;
	m->packed = sys_malloc(m->packed_len + 1);
	if (m->packed == NULL)
		return -ENOMEM;
	q->read_B += m->packed_len;
	return sq_read(q, m->packed, m->packed_len, start);
}

/* The packed length of the block at "at", or 0 if it makes no sense. */
static uint32_t
block_len(const struct sq_meta *m, uint64_t at)
{
	uint32_t len;

	if (at > m->packed_len || m->packed_len - at < 2)
		return 0;
	len = load_le16(m->packed + at) & (RAW - 1);
	if (len > SQUASHFS_META_B || len > m->packed_len - at - 2)
		return 0;
	return len;
}

int
sq_meta_chain(struct squashfs *q, struct sq_meta *m, uint64_t start,
    uint64_t end, const struct sq_report *r)
{
	uint64_t at = 0;
	int rc;

	if (start > q->length)
		return 0;
	if (end > q->length)
		end = q->length;
	rc = read_packed(q, m, start, end);
	while (rc == 0 && at < m->packed_len) {
		uint32_t len = block_len(m, at);

		if (len == 0) {
			sq_report(r, start + at,
			    "the length of a metadata block is impossible");
			break;
		}
		rc = add_block(m, at);
		at += len + 2;
	}
	return rc;
}

/* The places of blocks, which must rise, and where the last may end. */
static int
read_index(struct squashfs *q, struct sq_meta *m, const uint64_t *index,
    size_t count, uint64_t end, const struct sq_report *r)
{
	int rc = read_packed(q, m, index[0], end);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (index[i] < index[0] || index[i] >= end ||
		    (i > 0 && index[i] <= index[i - 1])) {
			sq_report(r, end + 8 * i,
			    "the place of a metadata block is impossible");
			rc = add_block(m, m->packed_len);
		} else
			rc = add_block(m, index[i] - index[0]);
	}
	return rc;
}

int
sq_meta_indexed(struct squashfs *q, struct sq_meta *m, uint64_t start,
    uint64_t bytes, const struct sq_report *r)
{
	uint64_t count = (bytes + SQUASHFS_META_B - 1) / SQUASHFS_META_B;
	uint64_t *index;
	int rc;

	if (bytes == 0)
		return 0;
	if (start > q->length || count > (q->length - start) / 8) {
		sq_report(r, start, "a table is beyond the end");
		return 0;
	}
	if (count > BLOCKS_MAX)
		return -EFBIG;
	index = sys_malloc(count * 8);
	if (index == NULL)
		return -ENOMEM;
	rc = sq_read(q, index, count * 8, start);
	for (size_t i = 0; rc == 0 && i < count; i++)
		index[i] = load_le64(&index[i]);
	if (rc == 0 && index[0] >= start)
		sq_report(r, start, "a table begins after its end");
	else if (rc == 0)
		rc = read_index(q, m, index, count, start, r);
	sys_free(index);
	return rc;
}

static void
unpack_block(const struct job *j, void *ctx, struct sq_meta *m, size_t i)
{
	struct sq_meta_block *b = &m->blocks[i];
	uint8_t *dst = m->data + i * SQUASHFS_META_B;
	uint32_t len = block_len(m, b->at);
	const uint8_t *src = m->packed + b->at + 2;
	ssize_t n;

	if (len == 0)
		n = -EBADMSG;
	else if ((load_le16(src - 2) & RAW) != 0) {
		memcpy(dst, src, len);
		n = len;
	} else
		n = j->q->codec->unpack(ctx, src, len, dst, SQUASHFS_META_B);
	b->bad = n <= 0;
	b->len = n <= 0 ? SQUASHFS_META_B : (uint16_t)n;
	/* what the decoder left is not to be seen */
	if (n <= 0)
		memset(dst, 0, SQUASHFS_META_B);
}

static void *
unpack_some(void *arg)
{
	struct job *j = arg;
	void *ctx;
	int rc = j->q->codec->open(&ctx);

	if (rc != 0) {
		j->err = rc;
		return NULL;
	}
	for (;;) {
		size_t first = atomic_fetch_add(&j->next, BATCH), k = 0;

		for (size_t n = 0; n < BATCH; n++) {
			size_t i = first + n;

			for (k = 0; k < j->count &&
			    i >= j->metas[k]->count; k++)
				i -= j->metas[k]->count;
			if (k == j->count)
				break;
			unpack_block(j, ctx, j->metas[k], i);
		}
		if (k == j->count)
			break;
	}
	j->q->codec->close(ctx);
	return NULL;
}

/* Closes the gaps that short blocks left, and tells of bad ones. */
static void
settle(struct sq_meta *m, const struct sq_report *r)
{
	uint64_t pos = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct sq_meta_block *b = &m->blocks[i];

		if (pos != i * SQUASHFS_META_B)
			memmove(m->data + pos, m->data + i * SQUASHFS_META_B,
			    b->len);
		b->pos = (uint32_t)pos;
		pos += b->len;
		if (b->bad) {
			m->any_bad = true;
			sq_report(r, m->start + b->at,
			    "a metadata block is damaged");
		}
	}
	m->len = pos;
	sys_free(m->packed);
	m->packed = NULL;
}

int
sq_meta_unpack(struct squashfs *q, struct sq_meta *const *metas,
    size_t count, unsigned threads, const struct sq_report *r)
{
	struct job j = { .q = q, .metas = metas, .count = count };
	pthread_t ids[THREADS_MAX];
	size_t blocks = 0, started = 0;

	for (size_t k = 0; k < count; k++) {
		struct sq_meta *m = metas[k];

		if (m->count == 0)
			continue;
		m->data = sys_malloc(m->count * SQUASHFS_META_B);
		if (m->data == NULL)
			return -ENOMEM;
		blocks += m->count;
	}
	/* a thread that does not start is done without */
	while (started + 1 < threads && started < THREADS_MAX &&
	    (started + 1) * 4 * BATCH < blocks &&
	    sys_thread(&ids[started], unpack_some, &j) == 0)
		started++;
	unpack_some(&j);
	for (size_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	for (size_t k = 0; j.err == 0 && k < count; k++)
		settle(metas[k], r);
	return j.err;
}

void
sq_meta_free(struct sq_meta *m)
{
	sys_free(m->packed);
	sys_free(m->data);
	sys_free(m->blocks);
}

static const struct sq_meta_block *
find_block(const struct sq_meta *m, uint64_t at)
{
	size_t lo = 0, hi = m->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->blocks[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->count && m->blocks[lo].at == at ? &m->blocks[lo] : NULL;
}

uint64_t
sq_meta_pos(const struct sq_meta *m, uint64_t at, uint32_t offset)
{
	const struct sq_meta_block *b = find_block(m, at);

	if (b == NULL || offset >= b->len)
		return UINT64_MAX;
	return (uint64_t)b->pos + offset;
}

static bool
touches_bad(const struct sq_meta *m, uint64_t pos, uint64_t len)
{
	size_t lo = 0, hi = m->count;

	/* the first block that ends after pos */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct sq_meta_block *b = &m->blocks[mid];

		if ((uint64_t)b->pos + b->len <= pos)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < m->count && m->blocks[lo].pos < pos + len; lo++)
		if (m->blocks[lo].bad)
			return true;
	return false;
}

const uint8_t *
sq_meta_get(const struct sq_meta *m, uint64_t pos, uint64_t len)
{
	if (pos > m->len || len > m->len - pos)
		return NULL;
	if (m->any_bad && touches_bad(m, pos, len))
		return NULL;
	return m->data + pos;
}
