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

/* Reads a part of a file, with zeros where it has become shorter. */
static int
read_part(const struct advise_file *f, uint64_t offset, uint8_t *to, size_t len)
{
	int fd = open_member(f);
	ssize_t n = fd < 0 ? fd : fdio_pread(fd, to, len, (off_t)offset);

	if (fd >= 0)
		sys_close(fd);
	if (n < 0)
		n = 0;
	memset(to + n, 0, len - (size_t)n);
	return 0;
}

/* Opens a compressed file, and finds its codec.  Returns the descriptor. */
static int
open_packed(const struct advise_file *f, const struct codec **codec)
{
	uint8_t head[CODEC_MAGIC_MAX];
	int fd = open_member(f);
	ssize_t n = fd < 0 ? fd : fdio_pread(fd, head, sizeof(head), 0);

	*codec = n > 0 ? codec_by_magic(head, (size_t)n) : NULL;
	if (fd >= 0 && *codec == NULL) {
		sys_close(fd);
		return -ENOTSUP;
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

static int
read_unpacked(const struct advise_file *f, uint64_t offset, uint8_t *to,
    size_t len)
{
	const struct codec *codec;
	int fd = open_packed(f, &codec);
	int out = fd < 0 ? fd : memfd_create("advise", MFD_CLOEXEC);
	ssize_t n = out < 0 ? out : 0;

	/* a damaged file ends early: what came before it counts */
	if (out >= 0) {
		unpack(codec, fd, offset, len, out);
		n = fdio_pread(out, to, len, 0);
		sys_close(out);
	}
	if (fd >= 0)
		sys_close(fd);
	if (n < 0)
		n = 0;
	memset(to + n, 0, len - (size_t)n);
	return 0;
}

uint64_t
advise_plain_size(const struct advise_file *f)
{
	struct codec_listing l = { .size = 0 };
	const struct codec *codec;
	int fd = open_packed(f, &codec);
	int64_t n = 0;

	if (fd < 0)
		return 0;
	if (codec->list != NULL && codec->list(fd, f->size, &l) == 0 &&
	    l.has_size)
		n = (int64_t)l.size;
	else if (f->size <= COUNT_MAX_B)
		n = unpack(codec, fd, 0, 0, -1);
	sys_close(fd);
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

	switch (form) {
	case FRAME_BLOCKS:
		return f->size / IMAGE_BLOCK * IMAGE_BLOCK;
	case FRAME_TAILS:
		return f->size % IMAGE_BLOCK;
	case FRAME_TAR:
		make_header(&b, f);
		head = b.len;
		strbuf_free(&b);
		return head + (f->size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	default:
		return f->size;
	}
}

/* Reads what a file adds to a span, from the given offset on. */
static int
read_share(enum frame_form form, const struct advise_file *f, uint64_t at,
    uint8_t *to, size_t len)
{
	struct strbuf b = { 0 };
	size_t n = 0;

	if (form == FRAME_TAILS)
		return read_part(f, f->size / IMAGE_BLOCK * IMAGE_BLOCK + at,
		    to, len);
	if (form != FRAME_TAR)
		return read_part(f, at, to, len);
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
	/* beyond the file's end this reads zeros, which are the padding */
	return n == len ? 0 : read_part(f, at, to + n, len - n);
}

int
advise_span_read(const struct advise_group *g, const struct frame_span *s,
    uint64_t offset, uint8_t *to, size_t len)
{
	size_t lo = 0, hi = g->count;

	if (s->form == FRAME_FILE)
		return read_part(s->file, offset, to, len);
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
		int rc;

		if (n == 0)
			continue;
		rc = read_share(s->form, g->files[lo], offset - s->starts[lo],
		    to, n);
		if (rc != 0)
			return rc;
		to += n;
		offset += n;
		len -= n;
	}
	memset(to, 0, len);
	return 0;
}
