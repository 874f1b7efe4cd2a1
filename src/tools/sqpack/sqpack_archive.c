/*
 * sqpack_archive.c - the bytes of a tar archive, compressed or not
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compressed archives are decompressed by the codecs of pzc, in a thread that
 * writes into a pipe.
 */
#include "sqpack_archive.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Limits for a compressed archive: the defaults of pzc. */
#define WINDOW_MAX (UINT64_C(1) << 27)

int
archive_fail(struct archive *a, int rc)
{
	const char *why = a->tar == NULL ? NULL : tar_why(a->tar);

	progress_erase(&a->p->progress);
	if (a->unpack.running && atomic_load(&a->unpack.rc) != 0)
		why = convert_reason(atomic_load(&a->unpack.rc));
	msg_error(&a->p->msg, "%s: %s", a->name,
	    why != NULL ? why : strerror(-rc));
	return rc;
}

static void *
unpack_all(void *arg)
{
	struct unpack *u = arg;
	sigset_t pipe_broken;

	/* a broken pipe must not kill the process */
	sigemptyset(&pipe_broken);
	sigaddset(&pipe_broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_broken, NULL);
	atomic_store(&u->rc, convert_run(&u->convert, &u->in, u->out,
	    &u->result));
	sys_close(u->out);
	return NULL;
}

static int
start_unpacking(struct archive *a, const struct codec *codec)
{
	struct unpack *u = &a->unpack;
	int ends[2], rc;

	rc = sys_pipe(ends);
	if (rc != 0)
		return rc;
	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	u->convert = (struct convert){ .codec = codec, .decompress = true,
		.options = { .threads = a->p->o.data.threads,
			.window_max = WINDOW_MAX } };
	u->out = ends[1];
	rc = sys_thread(&u->thread, unpack_all, u);
	if (rc != 0) {
		sys_close(ends[0]);
		sys_close(ends[1]);
		return rc;
	}
	u->running = true;
	a->data = ends[0];
	return 0;
}

static ssize_t
read_raw(void *arg, void *buf, size_t len)
{
	struct archive *a = arg;

	return a->unpack.running ? sys_read(a->data, buf, len) :
	    input_read(&a->unpack.in, buf, len);
}

static int
open_stream(struct archive *a)
{
	const struct codec *codec;
	const uint8_t *head;
	ssize_t n;
	int rc = a->fd < 0 ? a->fd : input_open(&a->unpack.in, a->fd);

	if (rc != 0)
		return rc;
	n = input_peek(&a->unpack.in, CODEC_MAGIC_MAX, &head);
	if (n < 0)
		return (int)n;
	codec = codec_by_magic(head, (size_t)n);
	return codec == NULL ? 0 : start_unpacking(a, codec);
}

int
archive_open(struct archive *a, struct sqpack *p, const char *name, int fd)
{
	struct tar_source source = { .read = read_raw, .arg = a };
	int rc;

	*a = (struct archive){ .p = p, .name = name, .fd = fd, .data = -1,
		.unpack = { .in = { .cancel = -1 } } };
	rc = open_stream(a);
	if (rc == 0)
		rc = tar_open(&a->tar, &source);
	return rc != 0 ? archive_fail(a, rc) : 0;
}

void
archive_close(struct archive *a)
{
	if (a->data >= 0)
		sys_close(a->data);
	if (a->unpack.running) {	/* its reader is gone: stop it */
		input_cancel(&a->unpack.in);
		pthread_join(a->unpack.thread, NULL);
	}
	tar_close(a->tar);
	input_close(&a->unpack.in);
	if (a->fd > STDIN_FILENO)
		sys_close(a->fd);
}
