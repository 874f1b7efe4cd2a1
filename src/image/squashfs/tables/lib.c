/*
 * lib.c - the file and compressor callbacks for libsquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lib.h"

#include "base/fdio.h"

#include <errno.h>
#include <sqfs/error.h>
#include <string.h>

/* Does nothing: objects belong to their creator. */
static void
keep_object(sqfs_object_t *object)
{
	(void)object;
}

static int
read_at(sqfs_file_t *base, sqfs_u64 offset, void *buf, size_t size)
{
	struct sqt_file *f = (struct sqt_file *)base;
	ssize_t n = fdio_pread(f->fd, buf, size, (off_t)offset);

	if (n < 0 && f->err == 0)
		f->err = (int)n;
	return n < 0 ? SQFS_ERROR_IO : (size_t)n < size ?
	    SQFS_ERROR_OUT_OF_BOUNDS : 0;
}

/* All writes append to the file at fd's offset. */
static int
write_at(sqfs_file_t *base, sqfs_u64 offset, const void *buf, size_t size)
{
	struct sqt_file *f = (struct sqt_file *)base;
	int rc = offset == f->end ? fdio_write(f->fd, buf, size) : -ESPIPE;

	if (rc != 0) {
		f->err = f->err != 0 ? f->err : rc;
		return SQFS_ERROR_IO;
	}
	f->end += size;
	return 0;
}

static sqfs_u64
get_size(const sqfs_file_t *base)
{
	return ((const struct sqt_file *)base)->end;
}

static int
no_truncate(sqfs_file_t *base, sqfs_u64 size)
{
	(void)base;
	(void)size;
	return SQFS_ERROR_UNSUPPORTED;
}

void
sqt_file_init(struct sqt_file *f, int fd, uint64_t end)
{
	*f = (struct sqt_file){ .base = { .base = { .destroy = keep_object },
		.read_at = read_at, .write_at = write_at,
		.get_size = get_size, .truncate = no_truncate },
		.fd = fd, .end = end };
}

static sqfs_s32
do_block(sqfs_compressor_t *base, const sqfs_u8 *in, sqfs_u32 size,
    sqfs_u8 *out, sqfs_u32 room)
{
	struct sqt_codec *c = (struct sqt_codec *)base;

	return c->codec == NULL ? 0 : (sqfs_s32)sqw_codec_pack(c->codec, in,
	    size, out, room);
}

/* Does nothing: sqt_image_begin() writes the options. */
static int
no_options(sqfs_compressor_t *base, sqfs_file_t *file)
{
	(void)base;
	(void)file;
	return 0;
}

static void
get_configuration(const sqfs_compressor_t *base,
    sqfs_compressor_config_t *config)
{
	(void)base;
	memset(config, 0, sizeof(*config));
}

void
sqt_codec_init(struct sqt_codec *c, struct sqw_codec *codec)
{
	*c = (struct sqt_codec){ .base = { .base = { .destroy = keep_object },
		.get_configuration = get_configuration,
		.write_options = no_options, .read_options = no_options,
		.do_block = do_block }, .codec = codec };
}

int
sqt_error(int rc, const struct sqt_file *f)
{
	if (rc == 0)
		return 0;
	if (f != NULL && f->err != 0)
		return f->err;
	switch (rc) {
	case SQFS_ERROR_ALLOC:
		return -ENOMEM;
	case SQFS_ERROR_UNSUPPORTED:
		return -ENOTSUP;
	case SQFS_ERROR_OVERFLOW:
		return -EFBIG;
	default:
		return -EIO;
	}
}
