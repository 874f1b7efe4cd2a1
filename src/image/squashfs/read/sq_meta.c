/*
 * sq_meta.c - tables of metadata blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A metadata block is its length as a le16 (bit 15: stored uncompressed) and
 * that many bytes; all but a table's last block unpack to SQUASHFS_META_B
 * bytes.
 */
#include "squashfs.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { HEADER = 2, AS_IT_IS = 0x8000, LEN = 0x7fff };

/* Finds the blocks; blocks that do not end within the table are ignored. */
static size_t
find_blocks(const uint8_t *raw, size_t len, size_t most, uint32_t *at)
{
	size_t pos = 0, count = 0;

	while (len - pos >= HEADER && count < most) {
		size_t n = load_le16(raw + pos) & LEN;

		if (n == 0 || n > SQUASHFS_META_B || n > len - pos - HEADER)
			break;
		if (at != NULL)
			at[count] = (uint32_t)pos;
		pos += HEADER + n;
		count++;
	}
	if (at != NULL)
		at[count] = (uint32_t)pos;
	return count;
}

static int
take_memory(struct sq_meta *m, const struct sq_super *s, uint64_t bytes)
{
	int rc = image_take(s->memory, bytes);

	m->taken += rc == 0 ? bytes : 0;
	return rc;
}

int
sq_meta_read(struct sq_meta *m, const struct sq_super *s, uint64_t start,
    uint64_t end, size_t most)
{
	uint64_t len = end - start;
	size_t k = 0;
	int rc;

	/* the part of the table that exists */
	m->start = start;
	if (start > end)
		return -EBADMSG;
	if (start >= s->there)
		return -ENODATA;
	if (len > s->there - start)
		len = s->there - start;
	if (len > SQ_TABLE_MAX)
		len = SQ_TABLE_MAX;
	rc = take_memory(m, s, len);
	if (rc != 0)
		return rc;
	m->raw_len = (size_t)len;
	m->raw = sys_malloc((size_t)len + 1);
	if (m->raw == NULL)
		return -ENOMEM;
	rc = sq_read(s, start, m->raw, (size_t)len);
	if (rc != 0)
		return rc;
	m->count = find_blocks(m->raw, (size_t)len, most, NULL);
	if (m->count > SQ_TABLE_MAX / SQUASHFS_META_B)
		return -EFBIG;
	rc = take_memory(m, s, (m->count + 1) * SQUASHFS_META_B);
	if (rc != 0)
		return rc;
	m->at = sys_malloc((m->count + 1) * sizeof(*m->at));
	m->near = sys_malloc(((size_t)len / SQUASHFS_META_B + 2) *
	    sizeof(*m->near));
	m->len = sys_calloc(m->count + 1, sizeof(*m->len));
	m->data = sys_malloc((m->count + 1) * SQUASHFS_META_B);
	if (m->at == NULL || m->near == NULL || m->len == NULL ||
	    m->data == NULL)
		return -ENOMEM;
	find_blocks(m->raw, (size_t)len, most, m->at);
	/* the first block at or after each multiple of 8 KiB, and at the end */
	for (size_t i = 0; i <= m->count; i++)
		while (k * SQUASHFS_META_B <= m->at[i])
			m->near[k++] = (uint32_t)i;
	m->near[k] = (uint32_t)m->count;
	return 0;
}

void
sq_meta_unpack(struct sq_meta *m, size_t i, struct sq_codec *c)
{
	const uint8_t *p = m->raw + m->at[i];
	size_t n = load_le16(p) & LEN;
	uint8_t *to = m->data + i * SQUASHFS_META_B;
	int64_t made = (int64_t)n;

	if (load_le16(p) & AS_IT_IS)
		memcpy(to, p + HEADER, n);
	else
		made = sq_codec_unpack(c, p + HEADER, n, to, SQUASHFS_META_B);
	m->len[i] = made < 0 ? 0 : (uint16_t)made;
}

int
sq_table_read(struct sq_meta *m, const struct sq_super *s, struct sq_codec *c,
    uint64_t start, uint64_t index)
{
	int rc = start > index ? -EBADMSG : sq_meta_read(m, s, start, index,
	    SIZE_MAX);

	for (size_t i = 0; rc == 0 && i < m->count; i++)
		sq_meta_unpack(m, i, c);
	if (rc == 0)
		sq_meta_free_raw(m, s);
	return rc;
}

int
sq_meta_one(struct sq_meta *m, const struct sq_super *s, struct sq_codec *c,
    uint64_t pos)
{
	int rc = pos > s->length ? -EBADMSG : sq_meta_read(m, s, pos,
	    pos + HEADER + SQUASHFS_META_B, 1);

	if (rc == 0 && m->count == 0)
		rc = -EBADMSG;
	if (rc == 0)
		sq_meta_unpack(m, 0, c);
	return rc;
}

const uint8_t *
sq_meta_span(const struct sq_meta *m, uint64_t block, unsigned offset,
    size_t most, size_t *have)
{
	const uint8_t *p;
	size_t i, hi;

	*have = 0;
	if (block > m->at[m->count])
		return NULL;
	/* the block that begins at this byte */
	i = m->near[block / SQUASHFS_META_B];
	hi = m->near[block / SQUASHFS_META_B + 1];
	while (i < hi) {
		size_t mid = i + (hi - i) / 2;

		if (m->at[mid] < block)
			i = mid + 1;
		else
			hi = mid;
	}
	if (i >= m->count || m->at[i] != block || offset > m->len[i])
		return NULL;
	p = m->data + i * SQUASHFS_META_B + offset;
	*have = m->len[i] - offset;
	while (*have < most && m->len[i] == SQUASHFS_META_B && i + 1 < m->count)
		*have += m->len[++i];
	return p;
}

const uint8_t *
sq_meta_get(const struct sq_meta *m, uint64_t block, unsigned offset,
    size_t need)
{
	size_t have;
	const uint8_t *p = sq_meta_span(m, block, offset, need, &have);

	return have < need ? NULL : p;
}

uint32_t
sq_meta_block(const struct sq_meta *m, const uint8_t *p)
{
	return m->at[(size_t)(p - m->data) / SQUASHFS_META_B];
}

void
sq_meta_free_raw(struct sq_meta *m, const struct sq_super *s)
{
	if (m->raw == NULL)
		return;
	sys_free(m->raw);
	image_give(s->memory, m->raw_len);
	m->taken -= m->raw_len;
	m->raw = NULL;
	m->raw_len = 0;
}

void
sq_meta_free(struct sq_meta *m, const struct sq_super *s)
{
	sq_meta_free_raw(m, s);
	image_give(s->memory, m->taken);
	sys_free(m->at);
	sys_free(m->near);
	sys_free(m->len);
	sys_free(m->data);
}
