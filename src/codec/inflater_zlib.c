/*
 * inflater_zlib.c - raw inflate by zlib, where there is no ISA-L
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "inflater.h"

#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <zlib.h>

struct inflater {
	z_stream z;
	bool ended;
};

int
inflater_open(struct inflater **out)
{
	struct inflater *f = sys_calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	if (inflateInit2(&f->z, -MAX_WBITS) != Z_OK) {
		sys_free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

void
inflater_close(struct inflater *f)
{
	if (f == NULL)
		return;
	inflateEnd(&f->z);
	sys_free(f);
}

int
inflater_begin(struct inflater *f, const uint8_t *dict, size_t len)
{
	f->ended = false;
	inflateReset(&f->z);
	if (len > 0)
		inflateSetDictionary(&f->z, dict, (uInt)len);
	return 0;
}

int
inflater_run(struct inflater *f, struct stream_io *io)
{
	z_stream *z = &f->z;
	size_t len = io->in_len < UINT_MAX ? io->in_len : UINT_MAX;
	size_t cap = io->out_len < UINT_MAX ? io->out_len : UINT_MAX;
	int rc;

	z->next_in = (z_const Bytef *)(uintptr_t)io->in;
	z->avail_in = (uInt)len;
	z->next_out = io->out;
	z->avail_out = (uInt)cap;
	rc = inflate(z, Z_NO_FLUSH);
	if (rc == Z_MEM_ERROR)
		return -ENOMEM;
	if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
		return -EBADMSG;
	io->in += len - z->avail_in;
	io->in_len -= len - z->avail_in;
	io->out += cap - z->avail_out;
	io->out_len -= cap - z->avail_out;
	f->ended = rc == Z_STREAM_END;
	if (f->ended)
		return STREAM_END;
	return io->eof && io->in_len == 0 && io->out_len > 0 ? -ENODATA :
	    STREAM_MORE;
}

/* zlib takes no byte that it does not need. */
size_t
inflater_unused(const struct inflater *f, uint8_t unused[8])
{
	(void)f;
	(void)unused;
	return 0;
}

/* data_type: 128 after a block, 64 in the last one, and the bits unused. */
bool
inflater_at_boundary(const struct inflater *f)
{
	return !f->ended && f->z.avail_in == 0 && f->z.data_type == 128;
}
