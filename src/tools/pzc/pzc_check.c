/*
 * pzc_check.c - checking that pzc's options are compatible
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_style.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/*
 * Checks that an option supports the format, or reports an error such as "-i
 * cannot be used with zstd, only with gzip".
 */
static int
check_option(struct pzc *p, const char *option, const char *const *formats)
{
	char list[64] = "";
	size_t at = 0;

	for (const char *const *f = formats; *f != NULL; f++) {
		if (strcmp(*f, p->codec->name) == 0)
			return -1;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
		    at == 0 ? "" : f[1] == NULL ? " and " : ", ", *f);
	}
	msg_error(&p->msg, "%s cannot be used with %s, only with %s", option,
	    p->codec->name, list);
	return MSG_ERROR;
}

/* Checks the options that only some formats support. */
static int
check_options(struct pzc *p)
{
	const struct codec_options *o = &p->codec_options;
	/* -C sets one or the other, depending on the format */
	const char *check = codec_text(o, "check");
	const char *comment = codec_text(o, "comment");
	const struct {
		bool given;
		const char *option;
		const char *formats[8];		/* ends with NULL */
	} all[] = {
		{ p->adapt, "--adapt", { "gzip", "zlib", "zip", "zstd",
		    "lz4" } },
		{ p->alias != NULL, "-A", { "gzip", "zip" } },
		{ o->block != 0, "-b", { "gzip", "zlib", "zip", "zstd", "lz4",
		    "xz" } },
		{ codec_number(o, "block-check"), "--block-checksum", { "lz4" } },
		{ check != NULL && check != comment && !p->no_check, "--check", { "xz" } },
		{ comment != NULL, "-C", { "gzip", "xz" } },
		{ codec_number(o, "extreme"), "-e", { "xz", "lzma" } },
		{ o->flush_ms > 0, "--flush-ms", { "gzip", "zlib", "zip",
		    "zstd", "lz4", "bzip2" } },
		{ codec_number(o, "huffman"), "-H", { "gzip", "zlib", "zip" } },
		{ o->independent, "-i", { "gzip", "zstd" } },
		{ codec_number(o, "legacy"), "--legacy", { "lz4" } },
		{ codec_number(o, "window-log"), "--long", { "zstd" } },
		{ p->restore_name, "-N", { "gzip", "zip" } },
		{ p->no_check, "--no-check", { "xz" } },
		{ codec_number(o, "rle"), "-U", { "gzip", "zlib", "zip" } },
		{ o->rsyncable, "-R", { "gzip", "zlib", "zip", "zstd", "lz4",
		    "bzip2" } },
		{ codec_number(o, "seekable"), "--seekable", { "zstd" } },
		{ p->want_time, "-M", { "gzip", "zip" } },
		{ p->ultra, "--ultra", { "zstd" } },
		{ p->zopfli, "-I, -J and -O", { "gzip", "zlib", "zip" } },
	};
	int status = -1;

	for (size_t i = 0; status < 0 && i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].given)
			status = check_option(p, all[i].option,
			    all[i].formats);
	return status;
}

/* Asks the codec whether it supports this combination of options. */
static int
check_plan(struct pzc *p)
{
	struct convert c = { .codec = p->codec,
	    .options = p->codec_options };
	const char *why = NULL;
	struct memory_plan plan;
	uint64_t bytes;

	c.options.threads = 1;
	if (convert_plan(&c, &plan, &bytes, &why) != -ENOTSUP || why == NULL)
		return -1;
	msg_error(&p->msg, "%s", why);
	return MSG_ERROR;
}

/* Checks the level range.  Resources are planned for the highest level. */
static int
check_adapt(struct pzc *p)
{
	const struct codec *c = p->codec;
	const struct codec_options *o = &p->codec_options;

	if (codec_number(o, "window-log") || codec_number(o, "huffman") ||
	    codec_number(o, "rle")) {
		msg_error(&p->msg, "--adapt cannot be combined with --long, -H "
		    "or -U");
		return MSG_ERROR;
	}
	if (p->adapt_min < 0) {
		p->adapt_min = 1;
		p->adapt_max = c->adapt_max;
	}
	if (p->adapt_min < c->level_min || p->adapt_max > c->level_max) {
		msg_error(&p->msg, "%s levels %d..%d are not in %d..%d",
		    c->name, p->adapt_min, p->adapt_max, c->level_min,
		    c->level_max);
		return MSG_ERROR;
	}
	p->codec_options.level = p->adapt_max;
	return -1;
}

/*
 * For zstd(1) and lz4(1), a higher --fast=N is faster, and means a level below
 * 1; level N would be slower than level 1.
 */
static int
check_fast(struct pzc *p)
{
	if (!p->fast || (strcmp(p->codec->name, "zstd") != 0 &&
	    strcmp(p->codec->name, "lz4") != 0))
		return -1;
	msg_error(&p->msg, "--fast=%d: %s levels below 1 are not supported; "
	    "use -1, the fastest, or --level=%d", p->level, p->codec->name,
	    p->level);
	return MSG_ERROR;
}

/* Chooses the format, and checks that it supports the level. */
static int
check_codec(struct pzc *p)
{
	const struct codec *c = p->codec;
	const struct codec_suffix *unused;
	int status;

	if (p->mode != PZC_COMPRESS)
		return -1;
	if (c == NULL && p->output != NULL)
		c = codec_by_suffix(p->output, &unused);
	if (c == NULL)
		c = codec_by_name("gzip");
	p->codec = c;
	if (c->encode == NULL) {
		msg_error(&p->msg, "%s can only be decompressed", c->name);
		return MSG_ERROR;
	}
	if (p->level >= 0 && p->style->levels != 0 &&
	    !(p->style->levels >> p->level & 1)) {
		msg_error(&p->msg, "%s has no level %d", c->name,
		    p->level);
		return MSG_ERROR;
	}
	if (p->level < 0)
		p->level = c->level_default;
	if (p->level < c->level_min || p->level > c->level_max) {
		msg_error(&p->msg, "%s level %d is not in %d..%d",
		    c->name, p->level, c->level_min, c->level_max);
		return MSG_ERROR;
	}
	p->codec_options.level = p->level;
	status = check_fast(p);
	if (status < 0 && p->style->strict)
		status = check_options(p);
	if (status < 0 && p->adapt)
		status = check_adapt(p);
	return status < 0 ? check_plan(p) : status;
}

static int
check_files(struct pzc *p)
{
	if (p->output != NULL && (p->file_count > 1 || p->recursive)) {
		msg_error(&p->msg, "-o allows only one input");
		return MSG_ERROR;
	}
	if (p->output != NULL && strcmp(p->output, "-") == 0) {
		p->to_stdout = true;
		p->output = NULL;
	}
	if (p->suffix != NULL && (*p->suffix == '\0' ||
	    strchr(p->suffix, '/') != NULL || (p->style->suffix_max > 0 &&
	    strlen(p->suffix) > p->style->suffix_max))) {
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
