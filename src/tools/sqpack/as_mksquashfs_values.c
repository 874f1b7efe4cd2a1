/*
 * as_mksquashfs_values.c - parsing the values of mksquashfs's options
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as_mksquashfs.h"

#include "base/args.h"
#include "image/squashfs/format.h"

#include <stdlib.h>

int
as_take_u32(struct sqpack *p, const struct as_words *w, uint32_t *value,
    bool *has)
{
	int64_t n;

	if (!as_number(&p->msg, w, 0, UINT32_MAX, &n))
		return MSG_ERROR;
	*value = (uint32_t)n;
	*has = true;
	return -1;
}

int
as_take_block(struct sqpack *p, const struct as_words *w)
{
	uint64_t n;

	if (args_size(w->value, &n) != 0 || n < SQUASHFS_BLOCK_MIN ||
	    n > SQUASHFS_BLOCK_MAX || (n & (n - 1)) != 0) {
		msg_error(&p->msg, "-b: expected a power of two from 4K to 1M, "
		    "found '%s'", w->value);
		return MSG_ERROR;
	}
	p->o.data.block = (uint32_t)n;
	return -1;
}

int
as_take_filters(struct sqpack *p, const struct as_words *w)
{
	if (sqpack_take_filters(w->value, &p->o.filters))
		return -1;
	msg_error(&p->msg, "-Xbcj: expected a list of x86, arm, armthumb, "
	    "powerpc, sparc and ia64, found '%s'", w->value);
	return MSG_ERROR;
}

int
as_take_mode(struct sqpack *p, const struct as_words *w)
{
	struct as_mksquashfs *a = p->o.as;
	char *end;
	unsigned long mode = strtoul(w->value, &end, 8);

	if (*w->value == '\0' || *end != '\0' || mode > 07777) {
		msg_error(&p->msg, "-root-mode: expected an octal number up to "
		    "7777, found '%s'", w->value);
		return MSG_ERROR;
	}
	a->root_mode = (uint32_t)mode;
	a->has_root_mode = true;
	return -1;
}

