/*
 * pzc_check.c - checking that pzc's options are compatible
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_style.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Options that only some formats support; they index options[]. */
enum {
	ADAPT, ALIAS, BLOCK, BLOCK_CHECK, CHECK, COMMENT, EXTREME, FLUSH,
	HUFFMAN, INDEPENDENT, LEGACY, LONG_WINDOW, NAME, NO_CHECK, RLE,
	RSYNCABLE, SEEKABLE, TIME, ULTRA, ZOPFLI, OPTIONS
};

/* The formats that support each option when compressing. */
static const struct {
	const char *option;
	const char *formats[8];		/* terminated by NULL */
} options[OPTIONS] = {
	[ADAPT] = { "--adapt", { "gzip", "zlib", "zip", "zstd", "lz4" } },
	[ALIAS] = { "-A", { "gzip", "zip" } },
	[BLOCK] = { "-b", { "gzip", "zlib", "zip", "zstd", "lz4", "xz" } },
	[BLOCK_CHECK] = { "--block-checksum", { "lz4" } },
	[CHECK] = { "--check", { "xz" } },
	[COMMENT] = { "-C", { "gzip", "xz" } },
	[EXTREME] = { "-e", { "xz", "lzma" } },
	[FLUSH] = { "--flush-ms", { "gzip", "zlib", "zip", "zstd", "lz4",
	    "bzip2" } },
	[HUFFMAN] = { "-H", { "gzip", "zlib", "zip" } },
	[INDEPENDENT] = { "-i", { "gzip", "zstd" } },
	[LEGACY] = { "--legacy", { "lz4" } },
	[LONG_WINDOW] = { "--long", { "zstd" } },
	[NAME] = { "-N", { "gzip", "zip" } },
	[NO_CHECK] = { "--no-check", { "xz" } },
	[RLE] = { "-U", { "gzip", "zlib", "zip" } },
	[RSYNCABLE] = { "-R", { "gzip", "zlib", "zip", "zstd", "lz4",
	    "bzip2" } },
	[SEEKABLE] = { "--seekable", { "zstd" } },
	[TIME] = { "-M", { "gzip", "zip" } },
	[ULTRA] = { "--ultra", { "zstd" } },
	[ZOPFLI] = { "-I, -J and -O", { "gzip", "zlib", "zip" } },
};

static void
find_asked(const struct pzc *p, bool asked[OPTIONS])
{
	const struct codec_options *o = &p->codec_options;
	const char *check = codec_text(o, "check");
	const char *comment = codec_text(o, "comment");

	asked[ADAPT] = p->adapt;
	asked[ALIAS] = p->alias != NULL;
	asked[BLOCK] = o->block != 0;
	asked[BLOCK_CHECK] = codec_number(o, "block-check");
	/* -C sets one or the other, depending on the format */
	asked[CHECK] = check != NULL && check != comment && !p->no_check;
	asked[COMMENT] = comment != NULL;
	asked[EXTREME] = codec_number(o, "extreme");
	asked[FLUSH] = o->flush_ms > 0;
	asked[HUFFMAN] = codec_number(o, "huffman");
	asked[INDEPENDENT] = o->independent;
	asked[LEGACY] = codec_number(o, "legacy");
	asked[LONG_WINDOW] = codec_number(o, "window-log");
	asked[NAME] = p->restore_name;
	asked[NO_CHECK] = p->no_check;
	asked[RLE] = codec_number(o, "rle");
	asked[RSYNCABLE] = o->rsyncable;
	asked[SEEKABLE] = codec_number(o, "seekable");
	asked[TIME] = p->want_time;
	asked[ULTRA] = p->ultra;
	asked[ZOPFLI] = p->zopfli;
}

/* Reports an error such as "-i cannot be used with zstd, only with gzip". */
static int
refuse_option(struct pzc *p, int i)
{
	char list[64] = "";
	size_t at = 0;

	for (const char *const *f = options[i].formats; *f != NULL; f++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
		    at == 0 ? "" : f[1] == NULL ? " and " : ", ", *f);
	msg_error(&p->msg, "%s cannot be used with %s, only with %s",
	    options[i].option, p->codec->name, list);
	return MSG_ERROR;
}

static int
check_options(struct pzc *p)
{
	bool asked[OPTIONS];

	find_asked(p, asked);
	for (int i = 0; i < OPTIONS; i++) {
		const char *const *f = options[i].formats;

		while (asked[i] && *f != NULL &&
		    strcmp(*f, p->codec->name) != 0)
			f++;
		if (asked[i] && *f == NULL)
			return refuse_option(p, i);
	}
	return -1;
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
