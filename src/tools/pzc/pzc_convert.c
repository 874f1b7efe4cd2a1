/*
 * pzc_convert.c - one run of a codec, measured, told of and verified
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_file.h"

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

static struct convert
convert_of(const struct file *f)
{
	struct convert c = { .codec = f->codec, .decompress = f->decompress,
	    .options = f->p->codec_options, .memory = f->p->memory };
	const struct source *s = f->src;
	const char *slash = strrchr(s->path, '/');

	/* standard input has neither name nor time: pipe and file < agree */
	if (!s->is_stdin && f->p->store_name)
		c.options.name = slash == NULL ? s->path : slash + 1;
	else if (s->is_stdin)
		c.options.name = f->p->alias;
	if (!s->is_stdin && f->p->store_time && S_ISREG(s->st.st_mode) &&
	    s->st.st_mtime > 0 && s->st.st_mtime <= UINT32_MAX)
		c.options.mtime = (uint32_t)s->st.st_mtime;
	return c;
}

static int
convert_timed(struct file *f)
{
	struct convert c = convert_of(f);
	struct progress progress;
	const struct stat *st = &f->src->st;
	struct adapt adapt;
	struct rusage a, b;
	uint64_t t0 = sys_now_ns();
	int rc;

	if (f->p->adapt && !f->decompress) {
		adapt_start(&adapt, f->p->level, f->p->adapt_min,
		    f->p->adapt_max);
		c.options.adapt = &adapt;
	}

	progress_start(&progress, STDERR_FILENO, S_ISREG(st->st_mode) ?
	    (uint64_t)st->st_size : 0, f->p->msg.quiet);
	c.progress = &progress;
	getrusage(RUSAGE_SELF, &a);
	rc = convert_run(&c, &f->in, f->out_fd, &f->result);
	getrusage(RUSAGE_SELF, &b);
	progress_erase(&progress);
	if (rc == 0)
		pzc_report(f->p, &(struct pzc_run){ .name = f->src->path,
		    .codec = f->codec, .result = &f->result,
		    .decompress = f->decompress, .level = f->p->level,
		    .adapt = c.options.adapt,
		    .wall_ns = sys_now_ns() - t0,
		    .user_us = microseconds(&b.ru_utime) -
		    microseconds(&a.ru_utime),
		    .sys_us = microseconds(&b.ru_stime) -
		    microseconds(&a.ru_stime) });
	return rc;
}

/* Decompresses what was written, and compares its length. */
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

int
pzc_convert(struct file *f)
{
	struct pzc *p = f->p;
	const char *path = f->src->path;
	int rc;

	pzc_confine(p, f->src, &f->out);
	rc = convert_timed(f);
	if (rc != 0) {
		bool out = f->result.stats.failed == PIPELINE_OUT;

		msg_error(&p->msg, "%s: %s", !out ? path :
		    f->target != NULL ? f->target : "standard output",
		    pzc_sentence(rc, f->result.why));
		return rc;
	}
	if (f->result.notes.trailing_garbage)
		msg_warn(&p->msg, "%s: trailing garbage ignored", path);
	if (f->result.notes.unchecked)
		msg_warn(&p->msg, "%s: a check of unknown kind was not "
		    "verified", path);
	if (p->verify && !f->decompress) {
		rc = verify(f);
		if (rc != 0)
			msg_error(&p->msg, "%s: what was written does not "
			    "verify: %s", path, pzc_sentence(rc, NULL));
	}
	return rc;
}
