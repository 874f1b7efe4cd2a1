/*
 * carry.c - holding back input until its cut point is known
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/carry.h"

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
