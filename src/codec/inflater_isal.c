/*
 * inflater_isal.c - raw inflate by ISA-L
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "inflater.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>

struct inflater {
	struct inflate_state s;
};

int
inflater_open(struct inflater **f)
{
	*f = sys_malloc(sizeof(**f));
	return *f == NULL ? -ENOMEM : 0;
}

void
inflater_close(struct inflater *f)
{
	sys_free(f);
}

int
inflater_begin(struct inflater *f, const uint8_t *dict, size_t len)
{
	isal_inflate_init(&f->s);
	f->s.crc_flag = ISAL_DEFLATE;
	if (len > 0)
		isal_inflate_set_dict(&f->s, (uint8_t *)(uintptr_t)dict,
		    (uint32_t)len);
	return 0;
}

int
inflater_run(struct inflater *f, struct stream_io *io)
{
	struct inflate_state *s = &f->s;
	size_t len = io->in_len < UINT32_MAX ? io->in_len : UINT32_MAX;
	size_t cap = io->out_len < UINT32_MAX ? io->out_len : UINT32_MAX;
	int rc;

	s->next_in = (uint8_t *)(uintptr_t)io->in;
	s->avail_in = (uint32_t)len;
	s->next_out = io->out;
	s->avail_out = (uint32_t)cap;
	rc = isal_inflate(s);
	if (rc < 0)
		return -EBADMSG;
	io->in += len - s->avail_in;
	io->in_len -= len - s->avail_in;
	io->out += cap - s->avail_out;
	io->out_len -= cap - s->avail_out;
	if (s->block_state == ISAL_BLOCK_FINISH)
		return STREAM_END;
	return io->eof && io->in_len == 0 && io->out_len > 0 ? -ENODATA :
	    STREAM_MORE;
}

size_t
inflater_unused(const struct inflater *f, uint8_t unused[8])
{
	store_le64(unused, f->s.read_in >> (f->s.read_in_length % 8));
	return (size_t)f->s.read_in_length / 8;
}

/*
 * The library puts the bits of an unfinished step back before it returns, and
 * has begun the next header even if it has no bit of it.
 */
bool
inflater_at_boundary(const struct inflater *f)
{
	const struct inflate_state *s = &f->s;

	return (s->block_state == ISAL_BLOCK_NEW_HDR ||
	    s->block_state == ISAL_BLOCK_HDR) && s->avail_in == 0 &&
	    s->read_in_length == 0 && s->tmp_in_size == 0 && s->bfinal == 0 &&
	    s->tmp_out_processed == s->tmp_out_valid;
}
