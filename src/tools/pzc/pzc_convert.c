/*
 * pzc_convert.c - running a codec; measuring, reporting and verifying it
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_file.h"
#include "pzc_style.h"

#include "base/path.h"
#include "base/progress.h"
#include "base/sys.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const char *
pzc_sentence(int rc, const char *why)
{
	if (why != NULL)
		return why;
	return rc == -EFBIG ?
	    "the window is larger than allowed (--long, --memory)" :
	    convert_reason(rc);
}

static uint64_t
microseconds(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/*
 * Returns whether to copy data like cat: gzip -cdf does so for data that is not
 * in gzip format, and for data after it.
 */
static bool
copies_rest(const struct file *f)
{
	return f->p->style->copy_rest && pzc_copies(f);
}

/*
 * Returns whether there is a time to store, if the format has a field for it.
 */
static bool
has_time(const struct file *f)
{
	return f->p->store_time && !f->decompress &&
	    S_ISREG(f->src->st.st_mode) &&
	    (!f->src->is_stdin || f->p->style->stdin_time);
}

/* Returns whether the header's 32 bits can hold the time; 0 means none. */
static bool
fits_header(int64_t t)
{
	return t > 0 && t <= UINT32_MAX;
}

static int
convert_of(const struct file *f, struct convert *c)
{
	const struct source *s = f->src;
	/* files in /proc report a size of 0 */
	bool has_size = f->p->store_size && !s->is_stdin &&
	    S_ISREG(s->st.st_mode);
	int rc;

	*c = (struct convert){ .codec = f->codec, .decompress = f->decompress,
	    .options = f->p->codec_options, .memory = f->p->memory };

	/*
	 * Standard input has no name and, by default, no time, so that "cat x
	 * |" and "<x" produce the same output.
	 */
	if (!s->is_stdin && f->p->store_name)
		c->options.name = path_name(s->path);
	else if (s->is_stdin)
		c->options.name = f->p->alias;
	if (has_time(f) && fits_header(s->st.st_mtime))
		c->options.mtime = (uint32_t)s->st.st_mtime;
	rc = codec_set(&c->options, "size", has_size ?
	    (uint64_t)s->st.st_size : 0, NULL);
	return rc != 0 ? rc : codec_set(&c->options, "copy-rest",
	    copies_rest(f), NULL);
}

static int
convert_timed(struct file *f, struct pzc_run *run, struct adapt *adapt)
{
	struct convert c;
	struct progress progress;
	const struct stat *st = &f->src->st;
	struct rusage a, b;
	uint64_t t0 = sys_now_ns();
	int rc = convert_of(f, &c);

	if (rc != 0)
		return rc;
	if (f->p->adapt && !f->decompress) {
		adapt_start(adapt, f->p->level, f->p->adapt_min,
		    f->p->adapt_max);
		c.options.adapt = adapt;
		run->adapt = adapt;
	}

	progress_start(&progress, STDERR_FILENO, S_ISREG(st->st_mode) ?
	    (uint64_t)st->st_size : 0,
	    f->p->msg.quiet || !f->p->style->talks);
	c.progress = &progress;
	getrusage(RUSAGE_SELF, &a);
	rc = convert_run(&c, &f->in, f->out_fd, &f->result);
	getrusage(RUSAGE_SELF, &b);
	progress_erase(&progress);
	run->wall_ns = sys_now_ns() - t0;
	run->user_us = microseconds(&b.ru_utime) - microseconds(&a.ru_utime);
	run->sys_us = microseconds(&b.ru_stime) - microseconds(&a.ru_stime);
	return rc;
}

/* Decompresses the output, and compares its length. */
static int
verify(struct file *f)
{
	struct convert c = { .codec = f->codec, .decompress = true,
	    .options = f->p->codec_options, .memory = f->p->memory };
	struct convert_result r;
	struct input in;
	int rc;

	if (lseek(f->out_fd, 0, SEEK_SET) == -1)
		return -errno;
	rc = input_open(&in, f->out_fd);
	if (rc == 0)
		rc = convert_run(&c, &in, -1, &r);
	input_close(&in);
	return rc != 0 ? rc : r.stats.out_bytes == f->in.bytes ? 0 : -EBADMSG;
}

void
pzc_say_failure(struct pzc *p, const char *path, int rc, const char *why)
{
	pzc_say(p, why != NULL ? ON_ERROR : rc == -ENODATA ? ON_CUT :
	    rc == -EBADMSG ? ON_CORRUPT : ON_ERROR, path,
	    pzc_sentence(rc, why));
}

static void
say_write_failure(struct file *f, int rc)
{
	struct pzc *p = f->p;

	pzc_say(p, ON_WRITE, f->target != NULL ? f->target :
	    p->style->stdout_name, pzc_sentence(rc, f->result.why));
	p->ended = p->style->write_error_ends;
	if (p->style->errno_is_status)
		p->msg.status = -rc;
}

/* Returns whether the data begins like a stream that gzip itself can read. */
static bool
begins_stream(const struct codec_notes *n)
{
	static const uint8_t second[] = { 0x1e, 0x9d, 0x9e, 0xa0 };

	return n->trailing_B == 1 || (n->trailing[0] == 0x1f &&
	    memchr(second, n->trailing[1], sizeof(second)) != NULL);
}

int
pzc_judge_rest(struct pzc *p, const char *path, const struct codec_notes *n)
{
	bool other = p->style->rest_is_read && begins_stream(n);

	if (n->trailing_B > 0 && !n->trailing_garbage)
		pzc_say(p, ON_TRAILING_ZEROS, path, NULL);
	if (!n->trailing_garbage)
		return 0;
	pzc_say(p, other ? ON_TRAILING_OTHER : ON_TRAILING, path, NULL);
	return other ? -ENODATA : 0;
}

static int
finish(struct file *f)
{
	struct pzc *p = f->p;
	const char *path = f->src->path;
	/* copied data is part of the output */
	int rc = copies_rest(f) ? 0 : pzc_judge_rest(p, path,
	    &f->result.notes);

	if (f->result.notes.unchecked)
		msg_warn(&p->msg, "%s: unknown check type, content not "
		    "verified", path);
	if (rc == 0 && p->verify && !f->decompress) {
		rc = verify(f);
		if (rc != 0)
			msg_error(&p->msg, "%s: verification of the output "
			    "failed: %s", path, pzc_sentence(rc, NULL));
	}
	return rc;
}

/* Returns the size of a single-member gzip file's header and trailer. */
static uint64_t
around(const struct file *f)
{
	if (f->decompress)
		return f->stored.head_B + GZIP_TRAILER;
	return GZIP_FIXED + GZIP_TRAILER + (f->src->is_stdin ||
	    !f->p->store_name ? 0 : strlen(path_name(f->src->path)) + 1);
}

int
pzc_convert(struct file *f)
{
	struct pzc *p = f->p;
	struct adapt adapt;
	struct pzc_run run = { .name = f->src->path,
	    .target = f->target != NULL ? f->target : p->style->stdout_name,
	    .is_stdin = f->src->is_stdin, .around_B = around(f),
	    .codec = f->codec, .result = &f->result,
	    .decompress = f->decompress, .level = p->level };
	int rc;

	pzc_confine(p, f->src, &f->out);
	if (p->msg.verbose > 0 && p->style->begin != NULL)
		p->style->begin(p, &run);
	if (has_time(f) && !fits_header(f->src->st.st_mtime))
		pzc_say(p, ON_TIME, f->src->path, NULL);
	rc = convert_timed(f, &run, &adapt);
	if (rc == 0)
		rc = finish(f);
	else if (f->result.stats.failed == PIPELINE_OUT)
		say_write_failure(f, rc);
	else
		pzc_say_failure(p, f->src->path, rc, f->result.why);
	if (rc == 0)
		pzc_report(p, &run);
	return rc;
}
