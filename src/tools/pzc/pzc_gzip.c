/*
 * pzc_gzip.c - pzc under the names gzip, gunzip, zcat and gzcat
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, messages and layouts are the same as in gzip 1.12; -p and --memory
 * are additions.
 */
#include "pzc.h"

#include "base/sys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct pzc_saying sayings[PZC_EVENTS] = {
	[ON_OPEN] = { SAY_ERROR, "", ": ", "" },
	[ON_MISSING] = { SAY_ERROR, "", ": ", "" },
	[ON_DIRECTORY] = { SAY_WARNING, "",
	    " is a directory -- ignored", NULL },
	[ON_LINK] = { SAY_ERROR, "",
	    ": Too many levels of symbolic links", NULL },
	[ON_LINK_READ] = { .as = SAY_NOTHING },
	[ON_SPECIAL] = { SAY_WARNING, "",
	    " is not a directory or a regular file - ignored", NULL },
	[ON_LINKS] = { SAY_WARNING, "", " has ", " -- file ignored" },
	[ON_SET_ID] = { SAY_WARNING, "",
	    " has set-id or sticky bits -- file ignored", NULL },
	[ON_PACKED] = { SAY_NOTE, "", " already has ", " suffix -- unchanged" },
	[ON_NO_SUFFIX] = { SAY_WARNING, "",
	    ": unknown suffix -- ignored", NULL },
	[ON_EXISTS] = { SAY_WARNING, "",
	    " already exists; not overwritten", NULL },
	[ON_NO_FORMAT] = { SAY_ERROR, "\n", ": not in gzip format", NULL },
	[ON_EMPTY] = { SAY_ERROR, "\n", ": unexpected end of file", NULL },
	[ON_CUT] = { SAY_ERROR, "\n", ": unexpected end of file", NULL },
	[ON_CORRUPT] = { SAY_ERROR, "\n",
	    ": invalid compressed data--format violated", NULL },
	[ON_TERMINAL_OUT] = { SAY_ERROR, "", "compressed data not written to a "
	    "terminal (-f forces it)", NULL },
	[ON_TERMINAL_IN] = { SAY_ERROR, "", "compressed data not read from a "
	    "terminal (-f forces it)", NULL },
	[ON_UNCHECKED] = { SAY_WARNING, "",
	    ": unknown check type, content not verified", NULL },
	[ON_ERROR] = { SAY_ERROR, "\n", ": ", "" },
	[ON_WRITE] = { SAY_ERROR, "", ": ", "" },
	[ON_TRAILING] = { SAY_WARNING, "\n",
	    ": decompression OK, trailing garbage ignored", NULL },
	[ON_TRAILING_OTHER] = { SAY_ERROR, "\n",
	    ": unexpected end of file", NULL },
	[ON_TRAILING_ZEROS] = { SAY_WARNING_IF_VERBOSE, "\n",
	    ": decompression OK, trailing zero bytes ignored", NULL },
	[ON_TIME] = { SAY_WARNING, "",
	    ": warning: file timestamp out of range for gzip format", NULL },
};

static const struct codec_suffix suffixes[] = {
	{ ".gz", "" }, { ".z", "" }, { ".taz", ".tar" }, { ".tgz", ".tar" },
	{ "-gz", "" }, { "-z", "" }, { "_z", "" }, { NULL, NULL }
};

static const char *const look_up[] = { ".gz", ".z", "-z", ".Z", NULL };

static const char *const formats[] = { "gzip", "zip", "compress", NULL };

static const char *const environment[] = { "GZIP", NULL };

/* Scripts parse the last or second word of the first line. */
static int
gzip_version(struct pzc *p)
{
	bool itself = strcmp(p->msg.prog, p->style->name) == 0;

	printf("%s%s 1.12\n", p->msg.prog, itself ? "" : " (gzip)");
	printf("This is pzc (coldpress) %s, standing in for gzip 1.12.\n",
	    COLDPRESS_VERSION);
	return msg_finish(&p->msg);
}

/* -v */

static void
put_ratio(uint64_t from, uint64_t to, uint64_t header, FILE *out)
{
	double num = (double)from - ((double)to - (double)header);

	fprintf(out, "%5.1f%%", from == 0 ? 0 : 100 * num / (double)from);
}

static void
gzip_begin(struct pzc *p, const struct pzc_run *run)
{
	(void)p;
	if (!run->is_stdin)
		fprintf(stderr, "%s:\t", run->name);
}

static void
gzip_done(struct pzc *p, const struct pzc_run *run)
{
	const struct pipeline_stats *s = &run->result->stats;

	if (p->mode == PZC_TEST) {
		fputs(" OK\n", stderr);
		return;
	}
	if (run->is_stdin && run->decompress)
		return;
	put_ratio(run->decompress ? s->out_bytes : s->in_bytes,
	    run->decompress ? s->in_bytes : s->out_bytes, run->around_B,
	    stderr);
	if (!run->is_stdin)
		fprintf(stderr, " -- %s %s", p->keep ? "created" :
		    "replaced with", run->target);
	fputc('\n', stderr);
}

/* -l */

/* Prints the time of the file or, with -N, the stored time. */
static void
put_date(const struct pzc *p, const struct pzc_entry *e)
{
	time_t t = e->stored.mtime != 0 && p->restore_time ?
	    e->stored.mtime : e->src->st.st_mtime;
	char date[16] = "??? ?? ??:??";
	struct tm tm;

	if (!S_ISREG(e->src->st.st_mode) && t == e->src->st.st_mtime)
		t = 0;
	if (localtime_r(&t, &tm) != NULL) {
		strftime(date, sizeof(date), "%b", &tm);
		snprintf(date + 3, sizeof(date) - 3, "%3d %02d:%02d",
		    tm.tm_mday % 100, tm.tm_hour % 100, tm.tm_min % 100);
	}
	printf("%s ", date);
}

static void
gzip_list(struct pzc *p, const struct pzc_entry *e)
{
	const char *path = e->src->is_stdin ? p->style->stdout_name :
	    e->src->path, *slash = strrchr(path, '/');
	const char *codec = e->codec->name, *method = codec;
	bool gzip = strcmp(codec, "gzip") == 0;
	char *name;

	if (p->totals.files == 0 && p->msg.verbose > 0)
		printf("method  crc     date  time  ");
	if (p->totals.files == 0 && !p->msg.quiet)
		printf("%19s %19s  ratio uncompressed_name\n", "compressed",
		    "uncompressed");
	if (p->msg.verbose > 0) {
		if (gzip || strcmp(codec, "zip") == 0)
			method = "defla";
		else if (strcmp(codec, "compress") == 0)
			method = "compr";
		printf("%-5.5s %08" PRIx32 " ", method,
		    e->l.has_value && gzip ? e->l.value : UINT32_MAX);
		put_date(p, e);
	}
	printf("%19" PRIu64 " %19" PRIu64 " ", e->packed, e->l.size);
	put_ratio(e->l.size, e->packed, e->stored.head_B + GZIP_TRAILER,
	    stdout);
	putchar(' ');
	/* the output's name; with -N, its last component is the stored name */
	if (p->restore_name && e->stored.name[0] != '\0') {
		if (slash != NULL)
			printf("%.*s", (int)(slash - path) + 1, path);
		pzc_put_name(e->stored.name);
		return;
	}
	name = e->src->is_stdin ? NULL : pzc_plain_name(p, path);
	pzc_put_name(name == NULL ? path : name);
	sys_free(name);
}

static void
gzip_list_sum(const struct pzc *p)
{
	const struct pzc_totals *t = &p->totals;

	if (p->file_count < 2 || p->msg.quiet || t->packed == 0 ||
	    t->size == 0)
		return;
	if (p->msg.verbose > 0)
		printf("%28s", "");
	printf("%19" PRIu64 " %19" PRIu64 " ", t->packed, t->size);
	put_ratio(t->size, t->packed, t->around_B, stdout);
	puts(" (totals)");
}

const struct pzc_style pzc_style_gzip = {
	.name = "gzip",
	.stdin_name = "stdin", .stdout_name = "stdout",
	.sayings = sayings,
	.environment = environment, .restricts_environment = true,
	.mask = PZC_AS_GZIP, .digits = "-123456789",
	.usage = "[OPTION]... [FILE]...\n",
	.about = "Replaces each FILE with a compressed one, FILE.gz, or "
	    "compresses\nstandard input to standard output.  This is pzc, "
	    "invoked as gzip.\n",
	.digits_apart = true,
	.bad_usage = MSG_ERROR,
	.restore_time_alone = true,
	.suffixes = suffixes, .suffix_any_case = true, .suffix_max = 30,
	.suffix_needed = true,
	.test_skips_plain = true,
	.look_up = look_up,
	.stdin_time = true,
	.formats = formats, .stdin_copies = true, .copy_rest = true,
	.rest_is_read = true,
	.write_error_ends = true,
	.begin = gzip_begin, .done = gzip_done,
	.list = gzip_list, .list_sum = gzip_list_sum, .list_tests = true,
	.version = gzip_version,
};
