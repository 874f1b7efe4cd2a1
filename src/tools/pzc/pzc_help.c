/*
 * pzc_help.c - what pzc says of itself
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/options.h"

#include <stdio.h>

static const char usage[] =
"usage: pzc [-0..-22] [-cdefhHikKlLmMnNqrRtTUvVYz] [-A alias] [-b KiB]\n"
"           [-C comment] [-F format] [-o file] [-p threads] [-S suffix]\n"
"           [--long option ...] [file ...]\n";

static const char help[] =
"\n"
"Compresses files, or standard input, on all cores.\n"
"\n"
"  -F, --format F      gzip (default), zlib, zip, zstd, lz4, xz, lzma, bzip2;\n"
"                      gz, zst and bz2 for short\n"
"  -z, -K              as -F zlib, -F zip\n"
"  -0 .. -22           level, as far as the format has it; --level N,\n"
"                      --fast[=N], --best\n"
"  -d, --decompress    decompress (any of the formats, and .Z)\n"
"  -t, --test          decompress, and write nothing\n"
"  -l, --list          sizes and ratio; with -t exact; --json\n"
"  -c, --stdout        write to standard output, keep the input\n"
"  -o, --output FILE   write to FILE\n"
"  -k, --keep          keep the input\n"
"  -f, --force         overwrite, follow links, write to a terminal\n"
"  -r, --recursive     the files in directories\n"
"  -S, --suffix .SUF   in place of the format's\n"
"  -p, --threads N     threads (default: the CPUs that may be used)\n"
"  --memory SIZE       use fewer threads rather than more memory\n"
"  -b, --blocksize N   block size in KiB\n"
"  -i, --independent   gzip: a member a block; zstd: a frame\n"
"  -R, --rsyncable     cut blocks where the content says so\n"
"  -H, -U              Huffman coding or runs only (gzip, zlib, zip)\n"
"  --adapt[=MIN:MAX]   the level follows the pipe (gzip, zstd, lz4)\n"
"  -e, --extreme       xz, lzma: search longer for less output\n"
"  --long[=LOG]        zstd: a window of 2^LOG bytes (27)\n"
"  --seekable          zstd: frames and a seek table\n"
"  --no-content-size   zstd: do not store the size of a file\n"
"  --flush-ms N        compress what there is after N ms without input\n"
"  -n, -N              do not store, or restore, name and time; do so\n"
"  -m, -M, -T          do not store the time; do so; as -m\n"
"  --check NAME, -C    xz: none, crc32, crc64 or sha256\n"
"  --block-checksum    lz4: a checksum of each block, too\n"
"  --legacy            lz4: the frame that the Linux kernel reads\n"
"  -A NAME, -C TEXT    name (gzip, zip) and comment (gzip) to store\n"
"  -Y, --synchronous   on disk before it is called done\n"
"  --verify            decompress what was compressed, and compare\n"
"  --stats[=FILE]      a JSON line about each file\n"
"  -q, -v              say less, or more\n"
"  -h, -L, -V          this help; the licence; versions\n";

int
pzc_help(struct pzc *p)
{
	return options_help(&p->msg, usage, help);
}

int
pzc_license(struct pzc *p)
{
	puts("BSD-2-Clause; see LICENSE");
	return msg_finish(&p->msg);
}

int
pzc_version(struct pzc *p)
{
	printf("pzc (coldpress) %s\n", COLDPRESS_VERSION);
	for (size_t i = 0; codecs[i] != NULL; i++)
		printf("%-8s %s\n", codecs[i]->name, codecs[i]->versions());
	return msg_finish(&p->msg);
}
