/*
 * advise_span.c - reading a part of what would be compressed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_frame.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "format/convert.h"
#include "format/tar/tar_header.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IMAGE_BLOCK = 128 << 10 };

/* A file of unknown size is decompressed to learn it, up to this size. */
enum { COUNT_MAX_B = 8 << 20 };

static int
open_member(const struct advise_file *f)
{
	return sys_openat(AT_FDCWD, f->path, O_RDONLY | O_NOFOLLOW |
	    O_NONBLOCK | O_CLOEXEC, 0);
}

/* Notes the first reason why a part of a file could not be read. */
static void
note_unread(struct advise_file *f, int err)
{
	if (f->err == 0)
		f->err = err;
}

/*
 * Reads a part of a file.  Returns how much of it could be read; of what an
 * error interrupts, nothing.
 */
static size_t
read_part(struct advise_file *f, uint64_t offset, uint8_t *to, size_t len)
{
	int fd = f->image != NULL ? -1 : open_member(f);
	ssize_t n = f->image != NULL ? advise_image_read(f->image, f->number,
	    offset, to, len) : fd < 0 ? fd : fdio_pread(fd, to, len,
	    (off_t)offset);

	if (fd >= 0)
		sys_close(fd);
	if (n < 0 || (size_t)n < len)
		note_unread(f, n < 0 ? (int)-n : ENODATA);
	return n < 0 ? 0 : (size_t)n;
}

/*
 * Opens a compressed file, and finds its codec.  Returns the descriptor,
 * -ENOTSUP if it is in no known format, or -errno.
 */
static int
open_packed(const struct advise_file *f, const struct codec **codec)
{
	uint8_t head[CODEC_MAGIC_MAX];
	int fd = open_member(f);
	ssize_t n = fd < 0 ? fd : fdio_pread(fd, head, sizeof(head), 0);

	*codec = n > 0 ? codec_by_magic(head, (size_t)n) : NULL;
	if (fd >= 0 && *codec == NULL) {
		sys_close(fd);
		return n < 0 ? (int)n : -ENOTSUP;
	}
	return fd;
}

/*
 * Decompresses up to skip + len bytes of fd, and writes the last len to out_fd;
 * everything if len is 0.  Returns the number of bytes decompressed, or -errno.
 */
static int64_t
unpack(const struct codec *codec, int fd, uint64_t skip, uint64_t len,
    int out_fd)
{
	struct convert one = { .codec = codec, .decompress = true,
		.options = { .threads = 1, .window_max =
		(uint64_t)1 << CODEC_WINDOW_LOG_MAX },
		.window = { .skip = skip, .len = len, .stop = true } };
	struct convert_result r;
	struct input in;
	int rc = input_open(&in, fd);

	if (rc == 0)
		rc = convert_run(&one, &in, out_fd, &r);
	input_close(&in);
	return rc != 0 ? rc : (int64_t)r.stats.out_bytes;
}

/*
 * As read_part(), of a compressed file's contents; -errno if there is nothing to
 * unpack it into.
 */
static ssize_t
read_unpacked(struct advise_file *f, uint64_t offset, uint8_t *to, size_t len)
{
	const struct codec *codec;
	int fd = open_packed(f, &codec);
	int out = fd < 0 ? -1 : memfd_create("advise", MFD_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : out < 0 ? -errno : 0;
	int64_t rc = fd;

	if (out >= 0) {
		rc = unpack(codec, fd, offset, len, out);
		n = rc == -ENOMEM ? rc : fdio_pread(out, to, len, 0);
		sys_close(out);
	}
	if (fd >= 0)
		sys_close(fd);
	/* a damaged file ends early: what came before it counts */
	if (n >= 0 && (size_t)n < len)
		note_unread(f, rc < 0 ? (int)-rc : ENODATA);
	return n;
}

uint64_t
advise_plain_size(struct advise_file *f)
{
	struct codec_listing l = { .size = 0 };
	const struct codec *codec;
	int fd = open_packed(f, &codec), rc;
	int64_t n = 0;

	if (fd < 0) {
		if (fd != -ENOTSUP)
			note_unread(f, -fd);
		return 0;
	}
	rc = codec->list == NULL ? -ENOTSUP : codec->list(fd, f->size, &l);
	if (rc == 0 && l.has_size)
		n = (int64_t)l.size;
	else if (rc == -EIO)
		n = rc;
	else if (f->size <= COUNT_MAX_B)
		n = unpack(codec, fd, 0, 0, -1);
	sys_close(fd);
	if (n < 0)
		note_unread(f, (int)-n);
	return n > 0 ? (uint64_t)n : 0;
}

static void
make_header(struct strbuf *b, const struct advise_file *f)
{
	const char *path = f->path;

	while (*path == '/')
		path++;
	strbuf_clear(b);
	tar_header_file(b, &(struct tar_entry){ .type = TAR_FILE,
	    .path = path, .link = "", .uname = "root", .gname = "root",
	    .mode = 0644, .mtime = f->mtime, .size = f->size,
	    .stored = f->size });
}

uint64_t
advise_span_share(enum frame_form form, const struct advise_file *f)
{
	struct strbuf b = { 0 };
	uint64_t head;
	bool failed;

	switch (form) {
	case FRAME_BLOCKS:
		return f->size / IMAGE_BLOCK * IMAGE_BLOCK;
	case FRAME_TAILS:
		return f->size % IMAGE_BLOCK;
	case FRAME_TAR:
		make_header(&b, f);
		head = b.len;
		failed = b.failed;
		strbuf_free(&b);
		return failed ? UINT64_MAX : head + (f->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	default:
		return f->size;
	}
}

/*
 * Reads what a file adds to a span, from the given offset on.  Returns how much
 * of it could be read, or -ENOMEM.
 */
static ssize_t
read_share(enum frame_form form, struct advise_file *f, uint64_t at,
    uint8_t *to, size_t len)
{
	struct strbuf b = { 0 };
	size_t n = 0, m;

	if (form == FRAME_TAILS)
		return (ssize_t)read_part(f, f->size / IMAGE_BLOCK *
		    IMAGE_BLOCK + at, to, len);
	if (form != FRAME_TAR)
		return (ssize_t)read_part(f, at, to, len);
	make_header(&b, f);
	if (b.failed) {
		strbuf_free(&b);
		return -ENOMEM;
	}
	if (at < b.len) {
		n = b.len - (size_t)at < len ? b.len - (size_t)at : len;
		memcpy(to, b.data + at, n);
	}
	at = at + n - b.len;
	strbuf_free(&b);
	/* what follows the file's end is padding */
	m = at >= f->size ? 0 : f->size - at < len - n ?
	    (size_t)(f->size - at) : len - n;
	if (m > 0 && read_part(f, at, to + n, m) < m)
		return 0;
	memset(to + n + m, 0, len - n - m);
	return (ssize_t)len;
}

ssize_t
advise_span_read(const struct advise_group *g, const struct frame_span *s,
    uint64_t offset, uint8_t *to, size_t len)
{
	size_t lo = 0, hi = g->count, got = 0;

	if (s->form == FRAME_FILE)
		return (ssize_t)read_part(s->file, offset, to, len);
	if (s->form == FRAME_UNPACKED)
		return read_unpacked(s->file, offset, to, len);
	/* the last file that begins at or before offset */
	while (hi - lo > 1) {
		size_t middle = lo + (hi - lo) / 2;

		if (s->starts[middle] <= offset)
			lo = middle;
		else
			hi = middle;
	}
	for (; len > 0 && lo < g->count; lo++) {
		uint64_t end = lo + 1 < g->count ? s->starts[lo + 1] : s->len;
		size_t n = end - offset < len ? (size_t)(end - offset) : len;
		ssize_t m;

		if (n == 0)
			continue;
		m = read_share(s->form, g->files[lo], offset - s->starts[lo],
		    to + got, n);
		if (m < 0)
			return m;
		got += (size_t)m;
		offset += n;
		len -= n;
	}
	return (ssize_t)got;
}
