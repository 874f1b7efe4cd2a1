/*
 * pzc_pigz.c - pzc under the names pigz and unpigz
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, messages and layouts are the same as in pigz 2.6; --memory is an
 * addition.
 */
#include "pzc.h"

#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "skipping: ", ": ", "" },
	[ON_MISSING] = { SAY_ERROR, "skipping: ", " does not exist", NULL },
	[ON_DIRECTORY] = { SAY_ERROR, "skipping: ", " is a directory", NULL },
	[ON_LINK] = { SAY_ERROR, "skipping: ", " is a symbolic link", NULL },
	[ON_LINK_READ] = { SAY_ERROR, "skipping: ",
	    " is a symbolic link", NULL },
	[ON_SPECIAL] = { SAY_ERROR, "skipping: ",
	    " is a special file or device", NULL },
	[ON_PACKED] = { SAY_ERROR, "skipping: ", " ends with ", "" },
	[ON_NO_SUFFIX] = { SAY_ERROR, "skipping: ",
	    " does not have compressed suffix", NULL },
	[ON_EXISTS] = { SAY_ERROR, "skipping: ", " exists", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "skipping: ",
	    " unrecognized format", NULL },
	[ON_EMPTY] = { SAY_ERROR, "skipping: ", " empty", NULL },
	[ON_CUT] = { SAY_ERROR, "skipping: ",
	    ": corrupted -- incomplete data", NULL },
	[ON_CORRUPT] = { SAY_ERROR, "skipping: ",
	    ": corrupted -- invalid data", NULL },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "", "compressed data not written to a "
	    "terminal (-f forces it)", NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "", "compressed data not read from a "
	    "terminal (-f forces it)", NULL },
	[ON_UNCHECKED] = { SAY_WARNING, "",
	    ": unknown check type, content not verified", NULL },
	[ON_ERROR] = { SAY_ERROR, "skipping: ", ": ", "" },
	[ON_WRITE] = { SAY_ERROR, "abort: write error on ", " (", ")" },
	[ON_TRAILING] = { SAY_ERROR_IF_VERBOSE, "warning: ",
	    ": trailing junk was ignored", NULL },
	[ON_TRAILING_OTHER] = { SAY_ERROR_IF_VERBOSE, "warning: ",
	    ": trailing junk was ignored", NULL },
	[ON_TRAILING_ZEROS] = { SAY_ERROR_IF_VERBOSE, "warning: ",
	    ": trailing junk was ignored", NULL },
};

static const struct codec_suffix suffixes[] = {
	{ ".zip", "" }, { ".ZIP", "" }, { ".tgz", ".tar" }, { ".gz", "" },
	{ "-gz", "" }, { ".zz", "" }, { "-zz", "" }, { ".z", "" },
	{ "-z", "" }, { "_z", "" }, { ".Z", "" }, { NULL, NULL }
};

static const char *const look_up[] = {
	".z", "-z", "_z", ".Z", ".gz", "-gz", ".zz", "-zz", ".zip", ".ZIP",
	".tgz", NULL
};

static const char *const formats[] = {
	"gzip", "zlib", "zip", "compress", NULL
};

static const char *const environment[] = { "GZIP", "PIGZ", NULL };

/* Prints one line, because scripts read the whole output as one value. */
static int
pigz_version(struct pzc *p)
{
	printf("pigz 2.6 (pzc, coldpress %s)\n", COLDPRESS_VERSION);
	return msg_finish(&p->msg);
}

static void
pigz_begin(struct pzc *p, const struct pzc_run *run)
{
	if (p->mode != PZC_TEST)
		fprintf(stderr, "%s to %s ", run->name, run->target);
}

static void
pigz_done(struct pzc *p, const struct pzc_run *run)
{
	(void)run;
	if (p->mode != PZC_TEST)
		fputc('\n', stderr);
}

/* -l */

enum { NAME_MAX_PLAIN = 48, NAME_MAX_VERBOSE = 16 };

static const struct pigz_method {
	const char *codec, *head;
	unsigned around;	/* size of header and trailer */
} methods[] = {
	{ "gzip", "gzip 8", GZIP_TRAILER }, { "zlib", "zlib 8", 6 },
	{ "zip", "zip  8", 0 }, { "compress", "lzw   ", 3 },
	{ NULL, "", 0 }
};

/*
 * Prints the stored name, or otherwise the output's name, truncated to the
 * given width.
 */
static void
put_tag(const struct pzc *p, const struct pzc_entry *e)
{
	size_t most = p->msg.verbose > 0 ? NAME_MAX_VERBOSE : NAME_MAX_PLAIN;
	bool stored = e->stored.name[0] != '\0';
	char *plain = stored || e->src->is_stdin ? NULL :
	    pzc_plain_name(p, e->src->path);
	const char *name = stored ? e->stored.name :
	    plain != NULL ? plain : e->src->path;
	char tag[NAME_MAX_PLAIN + 1];

	if (strlen(name) > most)
		snprintf(tag, sizeof(tag), "%.*s...", (int)most - 3, name);
	pzc_put_name(strlen(name) > most ? tag : name);
	sys_free(plain);
}

static void
pigz_list(struct pzc *p, const struct pzc_entry *e)
{
	const struct pigz_method *m = methods;
	uint64_t around, packed, size = e->l.size;
	time_t t = e->stored.mtime, now = time(NULL);
	char stamp[32] = "------ -----", value[16] = "--------";
	struct tm tm, today;

	if (p->msg.silent)
		return;
	while (m->codec != NULL && strcmp(m->codec, e->codec->name) != 0)
		m++;
	around = m->around + e->stored.head_B;
	packed = e->packed > around ? e->packed - around : 0;
	if (p->totals.files == 0 && p->msg.verbose > 0)
		printf("method    check    timestamp    ");
	if (p->totals.files == 0)
		puts("compressed   original reduced  name");
	/* in the current year, with the time of day */
	if (t != 0 && localtime_r(&t, &tm) != NULL &&
	    localtime_r(&now, &today) != NULL)
		strftime(stamp, sizeof(stamp), tm.tm_year == today.tm_year ?
		    "%b %e %H:%M" : "%b %e  %Y", &tm);
	if (e->l.value != 0 || e->l.has_value)
		snprintf(value, sizeof(value), "%08" PRIx32, e->l.value);
	if (p->msg.verbose > 0)
		printf("%-6.6s  %s  %s  ", m->codec != NULL ? m->head :
		    e->codec->name, value, stamp);
	printf("%10" PRIu64 " %10" PRIu64, packed, size);
	if (packed > size + (size >> 10) + 12)
		printf("?  unk    ");
	else
		printf(" %6.1f%%  ", 100 * ((double)size - (double)packed) /
		    (double)size);
	put_tag(p, e);
}

const struct pzc_style pzc_style_pigz = {
	.name = "pigz",
	.stdin_name = "<stdin>", .stdout_name = "<stdout>",
	.sayings = sayings,
	.environment = environment,
	.mask = PZC_AS_PIGZ, .digits = "-0123456789",
	.usage = "[options] [files ...]\n",
	.about = "Compresses files in place, adding .gz, or standard input to "
	    "standard\noutput.  This is pzc, invoked as pigz.\n",
	.levels = 0xbff,	/* 0 to 9, and 11 */
	.bad_usage = EINVAL,
	.restore_time_alone = true,
	.suffixes = suffixes, .own_suffix_only = true, .suffix_needed = true,
	.says_all = true,
	.look_up = look_up, .look_up_all = true,
	.test_needs_file = true, .force_allows_set_id = true,
	.stdin_time = true,
	.formats = formats, .copy_rest = true,
	.write_error_ends = true, .errno_is_status = true,
	.begin = pigz_begin, .done = pigz_done,
	.list = pigz_list, .list_reads_pipes = true,
	.version = pigz_version,
};
