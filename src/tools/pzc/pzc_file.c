/*
 * pzc_file.c - processing one file, or standard input
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This file opens the input and determines the output; pzc_convert.c runs the
 * codec, and pzc_target.c creates the output file.
 */
#include "pzc_file.h"
#include "pzc_style.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "format/skippable.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool
goes_to_stdout(const struct file *f)
{
	return f->p->to_stdout || (f->src->is_stdin && f->p->output == NULL);
}

bool
pzc_copies(const struct file *f)
{
	const struct pzc *p = f->p;

	return p->force && p->mode == PZC_DECOMPRESS && (p->to_stdout ||
	    (p->style->stdin_copies && goes_to_stdout(f)));
}

/*
 * Returns whether the program being imitated supports the format.  Other
 * formats are copied if that program would copy them, because text may look
 * like zlib data.
 */
static bool
is_of_style(const struct pzc *p, const struct codec *codec)
{
	const char *const *name = p->style->formats;

	if (name == NULL)
		return true;
	while (*name != NULL && strcmp(*name, codec->name) != 0)
		name++;
	return *name != NULL;
}

/*
 * Parses the header, but only if it is needed, because reading a pipe may
 * block.
 */
static void
read_stored(struct file *f)
{
	const struct pzc *p = f->p;
	const uint8_t *head;
	ssize_t n;

	if (f->codec == NULL || f->codec->stored == NULL ||
	    !(p->restore_name || p->restore_time || p->msg.verbose > 0))
		return;
	n = input_peek(&f->in, INPUT_PEEK, &head);
	if (n > 0)
		f->codec->stored(head, (size_t)n, &f->stored);
}

const struct codec *
pzc_codec_of(const struct pzc *p, const uint8_t *head, size_t len)
{
	const struct codec *found;

	if (p->codec != NULL && p->codec->magic(head, len))
		return p->codec;
	found = codec_by_magic(head, len);
	if (found == NULL && p->codec != NULL && p->codec->magic_is_guess &&
	    len > 0)
		found = p->codec;
	return found;
}

/* Chooses the format. */
static int
choose_codec(struct file *f)
{
	struct pzc *p = f->p;
	bool copies = pzc_copies(f);
	const uint8_t *head = NULL;
	ssize_t n;

	f->decompress = p->mode != PZC_COMPRESS;
	f->codec = p->codec;
	if (!f->decompress)
		return 0;
	/* data to be copied must remain complete */
	n = copies && p->style->formats != NULL ? 0 :
	    skippable_shorten(&f->in);
	if (n == 0)
		n = input_peek(&f->in, CODEC_MAGIC_MAX, &head);
	if (n < 0) {
		pzc_say(p, ON_ERROR, f->src->path, strerror((int)-n));
		return -1;
	}
	f->codec = pzc_codec_of(p, head, (size_t)n);
	if (copies && f->codec != NULL && !is_of_style(p, f->codec))
		f->codec = NULL;
	read_stored(f);
	if (f->codec != NULL || copies)
		return 0;
	pzc_say(p, n == 0 ? ON_EMPTY : ON_NO_FORMAT, f->src->path, NULL);
	return -1;
}

/*
 * Returns whether the output can be named: decompressing in place requires a
 * suffix, or a stored name.
 */
static bool
can_be_named(struct file *f)
{
	return f->p->mode != PZC_DECOMPRESS || f->p->output != NULL ||
	    goes_to_stdout(f) ||
	    (f->p->restore_name && !f->p->recursive &&
	    !f->p->style->suffix_needed) ||
	    pzc_has_suffix(f->p, f->src->path);
}

static void
sync_stdout(struct pzc *p)
{
	int rc = fdio_sync(STDOUT_FILENO);

	if (rc != 0)
		msg_error(&p->msg, "standard output: %s", strerror(-rc));
}

static void
to_stdout(struct file *f)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (!f->decompress && !f->p->force && isatty(STDOUT_FILENO)) {
		msg_error(&f->p->msg, "compressed data not written to a "
		    "terminal (-f forces it)");
		return;
	}
	if (!f->decompress && f->p->verify &&
	    ((flags & O_ACCMODE) != O_RDWR || lseek(STDOUT_FILENO, 0,
	    SEEK_CUR) != 0)) {
		msg_error(&f->p->msg, "--verify needs a file: standard "
		    "output cannot be read back (-o)");
		return;
	}
	f->out_fd = STDOUT_FILENO;
	if ((flags & O_ACCMODE) == O_RDONLY)
		msg_error(&f->p->msg, "standard output: %s",
		    strerror(EBADF));
	else if (pzc_convert(f) == 0 && f->p->sync)
		sync_stdout(f->p);
}

static void
run(struct file *f)
{
	int rc;

	if (!can_be_named(f))
		return;
	rc = input_open(&f->in, f->src->fd);
	if (rc != 0) {
		msg_error(&f->p->msg, "%s: %s", f->src->path, strerror(-rc));
	} else {
		if (f->p->codec_options.flush_ms > 0)
			f->in.flush_ms = f->p->codec_options.flush_ms;
		if (choose_codec(f) != 0)
			;
		else if (f->p->mode == PZC_TEST)
			pzc_convert(f);
		else if (goes_to_stdout(f))
			to_stdout(f);
		else
			pzc_to_target(f);
	}
	input_close(&f->in);
	sys_free(f->target);
}

void
pzc_file(struct pzc *p, struct source *s)
{
	struct file f = { .p = p, .src = s, .out_fd = -1,
	    .out = { .fd = -1, .dirfd = -1 } };

	run(&f);
}
