/*
 * pzc_pigz.c - what pzc is under the names pigz and unpigz
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Options, sentences and layouts are those that pigz 2.6 shows; --memory is
 * more than it has.
 */
#include "pzc_style.h"

#include "base/options.h"

#include <errno.h>
#include <stdio.h>

static const char *const environment[] = { "GZIP", "PIGZ", NULL };

static const struct pzc_letter letters[] = {
	{ 'F', OPT_NONE }, { 'T', 'm' }, { 0, 0 }
};

static const struct option long_options[] = {
	{ "alias", required_argument, NULL, 'A' },
	{ "best", no_argument, NULL, '9' },
	{ "blocksize", required_argument, NULL, 'b' },
	{ "comment", required_argument, NULL, 'C' },
	{ "decompress", no_argument, NULL, 'd' },
	{ "fast", no_argument, NULL, '1' },
	{ "first", no_argument, NULL, 'F' },
	{ "force", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "huffman", no_argument, NULL, 'H' },
	{ "independent", no_argument, NULL, 'i' },
	{ "iterations", required_argument, NULL, 'I' },
	{ "keep", no_argument, NULL, 'k' },
	{ "license", no_argument, NULL, 'L' },
	{ "list", no_argument, NULL, 'l' },
	{ "maxsplits", required_argument, NULL, 'J' },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "name", no_argument, NULL, 'N' },
	{ "no-name", no_argument, NULL, 'n' },
	{ "no-time", no_argument, NULL, 'm' },
	{ "oneblock", no_argument, NULL, 'O' },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "recursive", no_argument, NULL, 'r' },
	{ "rle", no_argument, NULL, 'U' },
	{ "rsyncable", no_argument, NULL, 'R' },
	{ "silent", no_argument, NULL, 'q' },
	{ "stdout", no_argument, NULL, 'c' },
	{ "suffix", required_argument, NULL, 'S' },
	{ "synchronous", no_argument, NULL, 'Y' },
	{ "test", no_argument, NULL, 't' },
	{ "time", no_argument, NULL, 'M' },
	{ "to-stdout", no_argument, NULL, 'c' },
	{ "uncompress", no_argument, NULL, 'd' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ "zip", no_argument, NULL, 'K' },
	{ "zlib", no_argument, NULL, 'z' },
	{ NULL, 0, NULL, 0 }
};

static const char help_text[] =
"Usage: pigz [options] [files ...]\n"
"  Compresses files in their places, adding .gz, or standard input onto\n"
"  standard output.  This is pzc under the name of pigz.\n"
"\n"
"  -0 to -9, -11        level\n"
"  --fast, --best       levels 1 and 9\n"
"  -A, --alias name     name for standard input in a zip entry\n"
"  -b, --blocksize KiB  size of independent blocks\n"
"  -c, --stdout         write to standard output, keep the input\n"
"  -C, --comment text   comment to store\n"
"  -d, --decompress     decompress\n"
"  -f, --force          overwrite, follow links, write to a terminal\n"
"  -h, --help           show this help\n"
"  -H, --huffman        Huffman coding only\n"
"  -i, --independent    a member for each block\n"
"  -F, -I n, -J n, -O   Zopfli's options, without effect\n"
"  -k, --keep           keep the input\n"
"  -K, --zip            a zip archive of one entry\n"
"  -l, --list           list sizes\n"
"  -L, --license        show the name of the licence\n"
"  -m, --no-time (-T)   do not store or restore the time\n"
"  -M, --time           store or restore the time\n"
"  --memory size        use fewer threads rather than more memory\n"
"  -n, --no-name        do not store or restore name and time\n"
"  -N, --name           store or restore name and time\n"
"  -p, --processes n    threads\n"
"  -q, --quiet          no messages, not even of errors\n"
"  -r, --recursive      the files in directories\n"
"  -R, --rsyncable      cut blocks where the content says so\n"
"  -S, --suffix .sss    in place of .gz\n"
"  -t, --test           decompress and write nothing\n"
"  -U, --rle            run lengths only\n"
"  -v, --verbose        say what is done\n"
"  -V, --version        show the version\n"
"  -Y, --synchronous    have the output on the disk before it is called done\n"
"  -z, --zlib           zlib's format\n";

static int
pigz_help(struct pzc *p)
{
	fputs(help_text, stderr);
	return msg_finish(&p->msg);
}

/* One line: scripts put all of it in a place for one. */
static int
pigz_version(struct pzc *p)
{
	printf("pigz 2.6 (pzc, coldpress %s)\n", COLDPRESS_VERSION);
	return msg_finish(&p->msg);
}

static void
pigz_usage(const struct pzc *p)
{
	(void)p;
}

const struct pzc_style pzc_style_pigz = {
	.name = "pigz",
	.environment = environment,
	.short_options = "-0123456789A:b:cC:dfFhHiI:J:kKlLmMnNOp:qrRS:tTUv"
	    "VYz",
	.long_options = long_options,
	.letters = letters,
	.bad_usage = EINVAL,
	.restore_time_alone = true,
	.usage = pigz_usage, .help = pigz_help, .license = pzc_license,
	.version = pigz_version,
};
