/*
 * cutter.c - cutting the input into pieces
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Boundaries are chosen by a gear hash: each byte shifts the hash by one bit
 * and adds a number that depends on the byte, so the top bits depend on the
 * last 64 bytes.  Beyond half the maximum size, a block ends where the top bits
 * are zero, on average after another quarter of the maximum size.  One block in
 * eight reaches the maximum size.
 */
#include "format/cutter.h"

#include "base/sys.h"

#include <string.h>

int
carry_begin(struct carry *c, struct slot *s)
{
	int rc = buf_reserve(&s->in, c->rest.len + CARRY_SPARE);

	if (rc != 0)
		return rc;
	if (c->rest.len > 0)
		memcpy(s->in.data, c->rest.data, c->rest.len);
	s->in.len = c->rest.len;
	c->rest.len = 0;
	return 0;
}

ssize_t
carry_more(struct input *in, struct slot *s, size_t len)
{
	int rc = buf_reserve(&s->in, s->in.len + len + CARRY_SPARE);
	ssize_t n;

	if (rc != 0)
		return rc;
	n = input_read(in, s->in.data + s->in.len, len);
	if (n > 0)
		s->in.len += (size_t)n;
	return n;
}

int
carry_cut(struct carry *c, struct slot *s, size_t len, size_t from)
{
	size_t rest = s->in.len - from;
	int rc = buf_reserve(&c->rest, rest);

	if (rc != 0)
		return rc;
	if (rest > 0)
		memcpy(c->rest.data, s->in.data + from, rest);
	c->rest.len = rest;
	s->in.len = len;
	return 0;
}

void
carry_close(struct carry *c)
{
	sys_free(c->rest.data);
}

/* Returns the length of the block that begins at p, at most n bytes. */
static size_t
content_cut(const uint8_t *p, size_t n, size_t block)
{
	size_t least = block / 2;
	uint64_t table[256], hash = 0, mask = 0;

	if (n <= least)
		return n;
	/* a fixed pseudorandom number per byte value (splitmix64's mixer) */
	for (uint64_t i = 0; i < 256; i++) {
		uint64_t z = (i + 1) * 0x9e3779b97f4a7c15U;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
		z = (z ^ z >> 27) * 0x94d049bb133111ebU;
		table[i] = z ^ z >> 31;
	}
	for (size_t step = block / 4; step > 1; step /= 2)
		mask = mask >> 1 | (uint64_t)1 << 63;
	for (size_t i = least > 64 ? least - 64 : 0; i < n; i++) {
		hash = (hash << 1) + table[p[i]];
		if ((hash & mask) == 0 && i + 1 >= least)
			return i + 1;
	}
	return n;
}

int
cutter_fill(void *job, struct input *in, struct slot *s)
{
	struct cutter *c = job;
	int rc = buf_reserve(&s->in, c->block);
	ssize_t n;

	if (rc == 0)
		rc = carry_begin(&c->carry, s);
	if (rc != 0)
		return rc;
	n = input_read(in, s->in.data + s->in.len, c->block - s->in.len);
	if (n < 0)
		return (int)n;
	s->in.len += (size_t)n;
	if (c->rsyncable) {
		size_t cut = content_cut(s->in.data, s->in.len, c->block);

		if (cut < s->in.len)
			return carry_cut(&c->carry, s, cut, cut);
	}
	s->last = in->eof;
	return 0;
}

void
cutter_close(struct cutter *c)
{
	carry_close(&c->carry);
}

const uint8_t cutter_zero[CUTTER_ZERO];

int
cutter_hole(struct cutter *c, struct input *in, struct slot *s)
{
	int rc = c->rsyncable || c->carry.rest.len > 0 ? 0 :
	    input_skip_hole(in, c->block);

	if (rc == 1)
		s->in.len = c->block;
	return rc;
}

int
cutter_zeros_get(const struct cutter_zeros *z, struct slot *s, int level)
{
	bool made = z->len == s->in.len && z->level == level;
	int rc = made ? buf_reserve(&s->out, z->packed.len) :
	    buf_reserve(&s->in, s->in.len);

	if (rc != 0)
		return rc;
	if (!made) {
		memset(s->in.data, 0, s->in.len);
		return 0;
	}
	memcpy(s->out.data, z->packed.data, z->packed.len);
	s->out.len = z->packed.len;
	return 1;
}

int
cutter_zeros_keep(struct cutter_zeros *z, const struct slot *s, int level)
{
	int rc = buf_reserve(&z->packed, s->out.len);

	if (rc != 0)
		return rc;
	memcpy(z->packed.data, s->out.data, s->out.len);
	z->packed.len = s->out.len;
	z->len = s->in.len;
	z->level = level;
	return 0;
}

void
cutter_zeros_free(struct cutter_zeros *z)
{
	sys_free(z->packed.data);
}
