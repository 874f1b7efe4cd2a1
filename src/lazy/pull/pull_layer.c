/*
 * pull_layer.c - decompressing a layer while it is fetched
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pull_layer.h"

#include "base/hex.h"
#include "base/sys.h"
#include "image/oci/oci_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* The window limit for a compressed layer: pzc's default. */
#define WINDOW_MAX (UINT64_C(1) << 27)

enum { PIPE_SIZE = 1 << 20 };

/* Makes the next span current.  Returns 1, 0 at the end of the blob, or -errno. */
static int
next_span(struct pull_layer *l)
{
	ssize_t n;
	int rc;

	if (l->failed != 0)
		return l->failed;
	n = pull_fetch_next(l->fetch, l->n, &l->data);
	l->left = n > 0 ? (size_t)n : 0;
	rc = n < 0 ? (int)n : n == 0 ? 0 :
	    digest_add(l->digest, l->data, l->left);
	l->failed = rc;
	return rc < 0 ? rc : n > 0;
}

static ssize_t
read_compressed(void *arg, void *buf, size_t len)
{
	struct pull_layer *l = arg;
	int rc = l->left > 0 ? 1 : next_span(l);
	size_t n = l->left < len ? l->left : len;

	if (rc <= 0)
		return rc;
	memcpy(buf, l->data, n);
	l->data += n;
	l->left -= n;
	return (ssize_t)n;
}

/* Fetches what the coder did not read, and compares the digest. */
static int
check_blob(struct pull_layer *l)
{
	uint8_t sum[DIGEST_MAX];
	char hex[OCI_HEX + 1];
	int rc;

	do
		rc = next_span(l);
	while (rc > 0);
	if (rc == 0)
		rc = digest_end(l->digest, sum);
	if (rc != 0)
		return rc;
	hex_write(hex, sum, OCI_HEX / 2);
	if (strcmp(hex, l->blob->hex) == 0)
		return 0;
	l->why = OCI_NOT_ITS;
	return -EBADMSG;
}

static void *
decompress_layer(void *arg)
{
	struct pull_layer *l = arg;
	sigset_t pipe_broken;
	const uint8_t *head;
	ssize_t n;
	int rc, wrong;

	/* a broken pipe must not kill the process */
	sigemptyset(&pipe_broken);
	sigaddset(&pipe_broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_broken, NULL);
	n = input_peek(&l->in, CODEC_MAGIC_MAX, &head);
	rc = n < 0 ? (int)n : 0;
	if (rc == 0) {
		l->convert.codec = codec_by_magic(head, (size_t)n);
		rc = convert_run(&l->convert, &l->in, l->out, &l->result);
	}
	if (rc != 0)
		l->why = l->result.why != NULL ? l->result.why :
		    convert_reason(rc);
	/* wrong data has a better reason: its digest differs */
	if (l->failed == 0 && rc != -EPIPE) {
		wrong = check_blob(l);
		rc = wrong != 0 ? wrong : rc;
	}
	if (l->failed != 0) {		/* the fetch says why */
		rc = l->failed;
		l->why = NULL;
	}
	l->rc = rc;
	sys_close(l->out);
	l->out = -1;
	return NULL;
}

int
pull_layer_open(struct pull_layer *l, struct pull_fetch *f, size_t n,
    const struct oci_blob *blob, unsigned threads)
{
	int ends[2], rc;

	*l = (struct pull_layer){ .fetch = f, .n = n, .blob = blob, .pipe = -1,
		.out = -1, .in = { .cancel = -1 },
		.convert = { .decompress = true, .options = {
		    .threads = threads, .window_max = WINDOW_MAX } } };
	rc = digest_new_sha256(&l->digest);
	if (rc == 0)
		rc = digest_start(l->digest);
	if (rc == 0)
		rc = input_open_from(&l->in, read_compressed, l);
	if (rc == 0)
		rc = sys_pipe(ends);
	if (rc != 0)
		return rc;
	l->pipe = ends[0];
	l->out = ends[1];
	fcntl(l->out, F_SETPIPE_SZ, PIPE_SIZE);
	rc = sys_thread(&l->thread, decompress_layer, l);
	l->running = rc == 0;
	return rc;
}

ssize_t
pull_layer_read(void *layer, void *buf, size_t len)
{
	const struct pull_layer *l = layer;
	ssize_t n;

	do
		n = sys_read(l->pipe, buf, len);
	while (n == -EINTR);
	return n;
}

int
pull_layer_end(struct pull_layer *l, char why[LAYER_WHY])
{
	pthread_join(l->thread, NULL);
	l->running = false;
	*why = '\0';
	if (l->rc != 0 && l->why != NULL)
		snprintf(why, LAYER_WHY, "%s", l->why);
	else if (l->rc != 0)
		pull_fetch_why(l->fetch, l->n, why);
	return l->rc;
}

void
pull_layer_close(struct pull_layer *l)
{
	if (l->pipe >= 0)
		sys_close(l->pipe);
	if (l->running)
		pthread_join(l->thread, NULL);
	if (l->out >= 0)
		sys_close(l->out);
	digest_free(l->digest);
	input_close(&l->in);
}
