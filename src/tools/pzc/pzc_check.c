/*
 * pzc_check.c - whether the options of pzc fit each other
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include <string.h>

/* The range of levels; the plan is made for the highest. */
static int
check_adapt(struct pzc *p)
{
	const struct codec *c = p->codec;
	const struct codec_options *o = &p->codec_options;

	if (c->adapt_max == 0 || o->window_log != 0 || o->huffman || o->rle) {
		msg_error(&p->msg, "--adapt is for gzip, zlib, zip, zstd and "
		    "lz4, without --long, -H and -U");
		return MSG_ERROR;
	}
	if (p->adapt_min < 0) {
		p->adapt_min = 1;
		p->adapt_max = c->adapt_max;
	}
	if (p->adapt_min < c->level_min || p->adapt_max > c->level_max) {
		msg_error(&p->msg, "levels %d..%d of %s are not in %d..%d",
		    p->adapt_min, p->adapt_max, c->name, c->level_min,
		    c->level_max);
		return MSG_ERROR;
	}
	p->codec_options.level = p->adapt_max;
	return -1;
}

/* The level and format must fit each other. */
static int
check_codec(struct pzc *p)
{
	const struct codec *c = p->codec;
	const struct codec_suffix *unused;

	if (p->mode != PZC_COMPRESS)
		return -1;
	if (c == NULL && p->output != NULL)
		c = codec_by_suffix(p->output, &unused);
	if (c == NULL)
		c = codec_by_name("gzip");
	p->codec = c;
	if (c->encode == NULL) {
		msg_error(&p->msg, "%s is read only", c->name);
		return MSG_ERROR;
	}
	if (p->level < 0)
		p->level = c->level_default;
	if (p->level < c->level_min || p->level > c->level_max) {
		msg_error(&p->msg, "level %d of %s is not in %d..%d",
		    p->level, c->name, c->level_min, c->level_max);
		return MSG_ERROR;
	}
	if (p->codec_options.extreme && strcmp(c->name, "xz") != 0 &&
	    strcmp(c->name, "lzma") != 0) {
		msg_error(&p->msg, "-e is for xz and lzma, not %s", c->name);
		return MSG_ERROR;
	}
	p->codec_options.level = p->level;
	return p->adapt ? check_adapt(p) : -1;
}

static int
check_files(struct pzc *p)
{
	if (p->output != NULL && (p->file_count > 1 || p->recursive)) {
		msg_error(&p->msg, "-o takes one input");
		return MSG_ERROR;
	}
	if (p->output != NULL && strcmp(p->output, "-") == 0) {
		p->to_stdout = true;
		p->output = NULL;
	}
	if (p->suffix != NULL && (*p->suffix == '\0' ||
	    strchr(p->suffix, '/') != NULL)) {
		msg_error(&p->msg, "invalid suffix '%s'", p->suffix);
		return MSG_ERROR;
	}
	return -1;
}

int
pzc_check(struct pzc *p)
{
	int status = check_codec(p);

	if (p->ascii && !p->msg.quiet)
		msg_note(&p->msg, "option --ascii ignored on this system");
	return status < 0 ? check_files(p) : status;
}
