/*
 * tar_archive.c - a tar archive in a file or pipe, compressed or not
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A compressed archive is decompressed into a pipe by the coder for its format,
 * in a thread.
 */
#include "format/tar/tar_archive.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

/* The window limit for a compressed archive: pzc's default. */
#define WINDOW_MAX (UINT64_C(1) << 27)

static void *
unpack_archive(void *arg)
{
	struct tar_archive *a = arg;
	sigset_t pipe_broken;

	/* a broken pipe must not kill the process */
	sigemptyset(&pipe_broken);
	sigaddset(&pipe_broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_broken, NULL);
	atomic_store(&a->rc, convert_run(&a->convert, &a->in, a->out,
	    &a->result));
	sys_close(a->out);
	return NULL;
}

static ssize_t
read_bytes(void *arg, void *buf, size_t len)
{
	struct tar_archive *a = arg;
	ssize_t n;

	if (!a->unpacking)
		return input_read(&a->in, buf, len);
	do
		n = sys_read(a->pipe, buf, len);
	while (n == -EINTR);
	return n;
}

static int
pass_raw(void *arg, const void *data, size_t len)
{
	const struct tar_archive *a = arg;

	return a->raw(a->raw_arg, data, len);
}

int
tar_archive_open(struct tar_archive *a, int fd,
    const struct tar_archive_options *o)
{
	struct tar_source source = { .read = read_bytes, .arg = a,
		.raw = o->raw == NULL ? NULL : pass_raw,
		.refuse_empty = o->refuse_empty, .skip_ends = o->skip_ends };
	const struct codec *codec;
	const uint8_t *head;
	int ends[2], rc;
	ssize_t n;

	*a = (struct tar_archive){ .pipe = -1, .in = { .cancel = -1 },
		.raw = o->raw, .raw_arg = o->raw_arg };
	rc = input_open(&a->in, fd);
	if (rc != 0)
		return rc;
	n = input_peek(&a->in, CODEC_MAGIC_MAX, &head);
	if (n < 0)
		return (int)n;
	codec = codec_by_magic(head, (size_t)n);
	if (codec == NULL)
		return tar_open(&a->tar, &source);
	rc = sys_pipe(ends);
	if (rc != 0)
		return rc;
	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	a->convert = (struct convert){ .codec = codec, .decompress = true,
		.options = { .threads = o->threads,
		    .window_max = WINDOW_MAX } };
	a->out = ends[1];
	rc = sys_thread(&a->thread, unpack_archive, a);
	if (rc != 0) {
		sys_close(ends[0]);
		sys_close(ends[1]);
		return rc;
	}
	a->unpacking = true;
	a->pipe = ends[0];
	return tar_open(&a->tar, &source);
}

void
tar_archive_close(struct tar_archive *a)
{
	if (a->pipe >= 0)
		sys_close(a->pipe);
	if (a->unpacking) {	/* the pipe's reader is gone, so the thread
				 * stops */
		input_cancel(&a->in);
		pthread_join(a->thread, NULL);
	}
	tar_close(a->tar);
	input_close(&a->in);
}

int
tar_archive_end(struct tar_archive *a)
{
	int rc = tar_drain(a->tar);

	if (rc == 0 && a->unpacking) {
		pthread_join(a->thread, NULL);
		a->unpacking = false;
		rc = atomic_load(&a->rc);
	}
	return rc;
}

const char *
tar_archive_why(const struct tar_archive *a, int rc)
{
	const char *why = a->tar == NULL ? NULL : tar_why(a->tar);
	int unpacked = atomic_load(&a->rc);

	if (unpacked != 0)
		why = convert_reason(unpacked);
	return why != NULL ? why : strerror(-rc);
}
