/*
 * pzc_gzip.c - what pzc is under the names gzip, gunzip, zcat and gzcat
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, sentences and layouts are those that gzip 1.12 shows; -p and
 * --memory are more than it has.
 */
#include "pzc_style.h"

#include "base/options.h"

#include <stdio.h>
#include <string.h>

static const char *const environment[] = { "GZIP", NULL };

static const struct pzc_letter letters[] = {
	{ 'H', 'h' }, { 'a', OPT_ASCII }, { 'b', OPT_BITS }, { 0, 0 }
};

static const struct option long_options[] = {
	{ "-presume-input-tty", no_argument, NULL, OPT_PRESUME_TTY },
	{ "ascii", no_argument, NULL, 'a' },
	{ "best", no_argument, NULL, '9' },
	{ "bits", required_argument, NULL, 'b' },
	{ "decompress", no_argument, NULL, 'd' },
	{ "fast", no_argument, NULL, '1' },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "keep", no_argument, NULL, 'k' },
	{ "license", no_argument, NULL, 'L' },
	{ "list", no_argument, NULL, 'l' },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "name", no_argument, NULL, 'N' },
	{ "no-name", no_argument, NULL, 'n' },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "recursive", no_argument, NULL, 'r' },
	{ "rsyncable", no_argument, NULL, 'R' },
	{ "silent", no_argument, NULL, 'q' },
	{ "stdout", no_argument, NULL, 'c' },
	{ "suffix", required_argument, NULL, 'S' },
	{ "synchronous", no_argument, NULL, 'Y' },
	{ "test", no_argument, NULL, 't' },
	{ "to-stdout", no_argument, NULL, 'c' },
	{ "uncompress", no_argument, NULL, 'd' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char help_text[] =
"Compresses each FILE into one with the suffix .gz in its place, or standard\n"
"input onto standard output.  This is pzc under the name of gzip.\n"
"\n"
"  -c, --stdout        write to standard output, keep the input\n"
"  -d, --decompress    decompress\n"
"  -f, --force         overwrite, follow links, write to a terminal\n"
"  -h, --help          show this help\n"
"  -k, --keep          keep the input\n"
"  -l, --list          list sizes\n"
"  -L, --license       show the name of the licence\n"
"  -n, --no-name       do not store or restore name and time\n"
"  -N, --name          store or restore name and time\n"
"  -p, --processes=N   use N threads\n"
"  -q, --quiet         no warnings\n"
"  -r, --recursive     the files in directories\n"
"      --memory=SIZE   use fewer threads rather than more memory\n"
"      --rsyncable     cut blocks where the content says so\n"
"  -S, --suffix=SUF    in place of .gz\n"
"      --synchronous   have the output on the disk before it is called done\n"
"  -t, --test          decompress and write nothing\n"
"  -v, --verbose       say what was done\n"
"  -V, --version       show the version\n"
"  -1, --fast ... -9, --best\n"
"                      less time, or less output\n";

static int
gzip_help(struct pzc *p)
{
	printf("Usage: %s [OPTION]... [FILE]...\n", p->msg.prog);
	return options_help(&p->msg, "", help_text);
}

/* Scripts take the last word, or the second, of the first line. */
static int
gzip_version(struct pzc *p)
{
	bool itself = strcmp(p->msg.prog, p->style->name) == 0;

	printf("%s%s 1.12\n", p->msg.prog, itself ? "" : " (gzip)");
	printf("This is pzc (coldpress) %s, in place of gzip 1.12.\n",
	    COLDPRESS_VERSION);
	return msg_finish(&p->msg);
}

static void
gzip_usage(const struct pzc *p)
{
	fprintf(stderr, "Try `%s --help' for more information.\n",
	    p->msg.prog);
}

const struct pzc_style pzc_style_gzip = {
	.name = "gzip",
	.environment = environment, .in_environment = "123456789nNpqRv",
	.short_options = "-123456789ab:cdfhHklLmMnNp:qrS:tvV",
	.long_options = long_options,
	.letters = letters,
	.digits_apart = true,
	.bad_usage = MSG_ERROR,
	.restore_time_alone = true,
	.usage = gzip_usage, .help = gzip_help, .license = pzc_license,
	.version = gzip_version,
};
