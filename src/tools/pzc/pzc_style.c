/*
 * pzc_style.c - pzc's program names, and its behaviour under its own name
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static const struct {
	const char *name;
	const struct pzc_style *style;
	enum pzc_mode mode;
	bool to_stdout;
	const char *format;		/* instead of the style's */
} names[] = {
	{ "pzc", &pzc_style_pzc, PZC_COMPRESS, false, NULL },
	{ "unpzc", &pzc_style_pzc, PZC_DECOMPRESS, false, NULL },
	{ "pzcat", &pzc_style_pzc, PZC_DECOMPRESS, true, NULL },
	{ "gzip", &pzc_style_gzip, PZC_COMPRESS, false, NULL },
	{ "gunzip", &pzc_style_gzip, PZC_DECOMPRESS, false, NULL },
	{ "zcat", &pzc_style_gzip, PZC_DECOMPRESS, true, NULL },
	{ "gzcat", &pzc_style_gzip, PZC_DECOMPRESS, true, NULL },
	{ "pigz", &pzc_style_pigz, PZC_COMPRESS, false, NULL },
	{ "unpigz", &pzc_style_pigz, PZC_DECOMPRESS, false, NULL },
	{ "zstd", &pzc_style_zstd, PZC_COMPRESS, false, NULL },
	{ "zstdmt", &pzc_style_zstd, PZC_COMPRESS, false, NULL },
	{ "unzstd", &pzc_style_zstd, PZC_DECOMPRESS, false, NULL },
	{ "zstdcat", &pzc_style_zstd, PZC_DECOMPRESS, true, NULL },
	{ "bzip2", &pzc_style_bzip2, PZC_COMPRESS, false, NULL },
	{ "bunzip2", &pzc_style_bzip2, PZC_DECOMPRESS, false, NULL },
	{ "bzcat", &pzc_style_bzip2, PZC_DECOMPRESS, true, NULL },
	{ "lbzip2", &pzc_style_bzip2, PZC_COMPRESS, false, NULL },
	{ "lbunzip2", &pzc_style_bzip2, PZC_DECOMPRESS, false, NULL },
	{ "lbzcat", &pzc_style_bzip2, PZC_DECOMPRESS, true, NULL },
	{ "pbzip2", &pzc_style_bzip2, PZC_COMPRESS, false, NULL },
	{ "pbunzip2", &pzc_style_bzip2, PZC_DECOMPRESS, false, NULL },
	{ "pbzcat", &pzc_style_bzip2, PZC_DECOMPRESS, true, NULL },
	{ "lz4", &pzc_style_lz4, PZC_COMPRESS, false, NULL },
	{ "lz4c", &pzc_style_lz4, PZC_COMPRESS, false, NULL },
	{ "unlz4", &pzc_style_lz4, PZC_DECOMPRESS, false, NULL },
	{ "lz4cat", &pzc_style_lz4, PZC_DECOMPRESS, true, NULL },
	{ "xz", &pzc_style_xz, PZC_COMPRESS, false, NULL },
	{ "unxz", &pzc_style_xz, PZC_DECOMPRESS, false, NULL },
	{ "xzcat", &pzc_style_xz, PZC_DECOMPRESS, true, NULL },
	{ "lzma", &pzc_style_xz, PZC_COMPRESS, false, "lzma" },
	{ "unlzma", &pzc_style_xz, PZC_DECOMPRESS, false, "lzma" },
	{ "lzcat", &pzc_style_xz, PZC_DECOMPRESS, true, "lzma" },
};

/*
 * Names of programs that pzc does not stand in for, and what to type instead.
 * Under such a name it would write another format than its caller expects, and
 * remove the input.
 */
static const struct {
	const char *name, *instead;
} others[] = {
	{ "pzstd", "pzc -F zstd" },
	{ "pxz", "pzc -F xz" }, { "pixz", "pzc -F xz" },
	{ "lzip", "pzc" }, { "lzop", "pzc" }, { "7z", "pzc" },
	{ "zip", "pzc -F zip" }, { "unzip", "pzc -d" },
	{ "funzip", "pzcat" },
	{ "compress", "pzc" }, { "uncompress", "pzc -d" },
	{ "bgzip", "pzc" }, { "igzip", "pzc" },
};

/*
 * Returns the name that a link named zcat or gzcat stands for: zstdcat, if it is
 * a link to zstd, as in trees that have no gzip; otherwise its own.
 */
static const char *
name_of_link(const char *name)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	char to[PATH_MAX];
	ssize_t n;

	if (path == NULL || (strcmp(name, "zcat") != 0 &&
	    strcmp(name, "gzcat") != 0))
		return name;
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0)
		return name;
	to[n] = '\0';
	return strcmp(path_name(to), "zstd") == 0 ? "zstdcat" : name;
}

int
pzc_be_called(struct pzc *p)
{
	p->msg.prog = name_of_link(p->msg.prog);
	p->style = &pzc_style_pzc;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(p->msg.prog, others[i].name) != 0)
			continue;
		msg_error(&p->msg, "this is pzc, which does not stand in for "
		    "%s; call it as '%s'", others[i].name, others[i].instead);
		return MSG_ERROR;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(p->msg.prog, names[i].name) != 0)
			continue;
		p->style = names[i].style;
		p->mode = names[i].mode;
		p->to_stdout = names[i].to_stdout;
		p->format[0] = names[i].format;
	}
	p->called = p->msg.prog;
	if (p->style->one_name)
		p->msg.prog = p->style->name;
	if (p->format[0] != NULL)
		p->codec = codec_by_name(p->format[0]);
	p->keep = p->style->keeps;
	p->formats = p->format[0] != NULL ? p->format : p->style->formats;
	return -1;
}

bool
pzc_say(struct pzc *p, enum pzc_event on, const char *path, const char *word)
{
	static void (*const say[])(struct msg *, const char *, ...) = {
		[SAY_NOTE] = msg_note, [SAY_WARNING] = msg_warn,
		[SAY_ERROR] = msg_error, [SAY_BARE] = msg_bare,
		[SAY_WARNING_IF_VERBOSE] = msg_warn,
		[SAY_ERROR_IF_VERBOSE] = msg_error
	};
	const struct pzc_saying *s = &p->style->sayings[on];
	bool muted = s->as == SAY_ERROR || s->as == SAY_BARE ||
	    s->as == SAY_ERROR_IF_VERBOSE ? p->msg.silent : p->msg.quiet;
	int before = p->msg.status;
	bool newline = s->before != NULL && *s->before == '\n';

	if (s->as == SAY_NOTHING ||
	    (s->as > SAY_BARE && p->msg.verbose == 0))
		return false;
	if (newline && !muted)
		fputc('\n', stderr);
	if (s->as != SAY_NOTE || !muted)
		say[s->as](&p->msg, "%s%s%s%s%s", s->before + newline, path,
		    s->between, s->after == NULL ? "" : word,
		    s->after == NULL ? "" : s->after);
	/* the highest one counts */
	if (p->style->statuses == NULL)
		return true;
	if (p->style->statuses[on] > p->msg.status)
		p->msg.status = p->style->statuses[on];
	if (before > p->msg.status)
		p->msg.status = before;
	return true;
}

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "", ": ", "" },
	[ON_MISSING] = { SAY_ERROR, "", ": ", "" },
	[ON_DIRECTORY] = { SAY_WARNING, "",
	    " is a directory -- ignored", NULL },
	[ON_LINK] = { SAY_WARNING, "", " is a symbolic link -- ignored", NULL },
	[ON_LINK_READ] = { SAY_WARNING, "",
	    " is a symbolic link -- ignored", NULL },
	[ON_SPECIAL] = { SAY_WARNING, "",
	    " is not a regular file -- ignored", NULL },
	[ON_LINKS] = { SAY_WARNING, "", " has ", " -- ignored" },
	[ON_SET_ID] = { SAY_WARNING, "",
	    " has set-id or sticky bits -- ignored", NULL },
	[ON_PACKED] = { SAY_WARNING, "",
	    " already has ", " suffix -- unchanged" },
	[ON_NO_SUFFIX] = { SAY_WARNING, "",
	    ": unknown suffix -- ignored", NULL },
	[ON_EXISTS] = { SAY_WARNING, "",
	    " already exists -- not overwritten", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "", ": not in a known format", NULL },
	[ON_EMPTY] = { SAY_ERROR, "", ": unexpected end of file", NULL },
	[ON_CUT] = { SAY_ERROR, "", ": ", "" },
	[ON_CORRUPT] = { SAY_ERROR, "", ": ", "" },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "", "compressed data not written to a "
	    "terminal (-f forces it)", NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "", "compressed data not read from a "
	    "terminal (-f forces it)", NULL },
	[ON_UNCHECKED] = { SAY_WARNING, "",
	    ": unknown check type, content not verified", NULL },
	[ON_ERROR] = { SAY_ERROR, "", ": ", "" },
	[ON_WRITE] = { SAY_ERROR, "", ": ", "" },
	[ON_TRAILING] = { SAY_WARNING, "", ": trailing garbage ignored", NULL },
	[ON_TRAILING_OTHER] = { SAY_WARNING, "",
	    ": trailing garbage ignored", NULL },
	[ON_TRAILING_ZEROS] = { .as = SAY_NOTHING },
	[ON_TIME] = { .as = SAY_NOTHING },
};

static const char *const environment[] = { "PZC", NULL };

static int
pzc_version(struct pzc *p)
{
	printf("pzc (coldpress) %s\n", COLDPRESS_VERSION);
	for (size_t i = 0; codecs[i] != NULL; i++)
		printf("%-8s %s\n", codecs[i]->name, codecs[i]->versions());
	return msg_finish(&p->msg);
}

const struct pzc_style pzc_style_pzc = {
	.name = "pzc",
	.stdin_name = "standard input", .stdout_name = "standard output",
	.sayings = sayings,
	.environment = environment,
	.mask = PZC_AS_PZC, .digits = "-0123456789",
	.usage = "[-0..-22] [-cdefhHikKlLmMnNqrRtTUvVYz] [-A alias] [-b KiB]\n"
	    "           [-C comment] [-F format] [-o file] [-p threads] "
	    "[-S suffix]\n"
	    "           [--long option ...] [file ...]\n",
	.about = "Compresses files, or standard input, on all cores.  unpzc is "
	    "pzc -d, and\npzcat is pzc -dc.\n",
	.strict = true,
	.bad_usage = MSG_ERROR,
	.lenient = true, .force_allows_set_id = true, .talks = true,
	.done = pzc_tell,
	.list = pzc_list_line, .list_sum = pzc_list_sum,
	.version = pzc_version,
};
