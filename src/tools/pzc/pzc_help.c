/*
 * pzc_help.c - the help and version output of pzc
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc.h"

#include "base/options.h"

#include <stdio.h>

static const char usage[] =
" [-0..-22] [-cdefhHikKlLmMnNqrRtTUvVYz] [-A alias] [-b KiB]\n"
"           [-C comment] [-F format] [-o file] [-p threads] [-S suffix]\n"
"           [--long option ...] [file ...]\n";

static const char help[] =
"\n"
"Compresses files, or standard input, on all cores.  unpzc is pzc -d, and\n"
"pzcat is pzc -dc.\n"
"\n"
"  -F, --format F      gzip (default), zlib, zip, zstd, lz4, xz, lzma, bzip2;\n"
"                      gz, zst and bz2 for short\n"
"  -z, -K              same as -F zlib, -F zip\n"
"  -0 .. -22           level, within the format's range; --level N,\n"
"                      --fast[=N], --best\n"
"  -d, --decompress    decompress (any of the formats, and .Z)\n"
"  -t, --test          decompress, and write nothing\n"
"  -l, --list          list sizes and ratio (-t: exact; --json: as JSON)\n"
"  -c, --stdout        write to standard output, keep the input\n"
"  -o, --output FILE   write to FILE\n"
"  -k, --keep          keep the input\n"
"  -f, --force         overwrite, follow links, write to a terminal\n"
"  -r, --recursive     process directories recursively\n"
"  -S, --suffix .SUF   use this instead of the format's suffix\n"
"  -p, --threads N     number of threads (default: usable CPUs)\n"
"  --memory SIZE       use fewer threads rather than more memory\n"
"  -b, --blocksize N   block size in KiB\n"
"  -i, --independent   gzip: one member per block; zstd: one frame\n"
"  -R, --rsyncable     choose block boundaries by content\n"
"  -H, -U              Huffman coding or run lengths only (gzip, zlib, zip)\n"
"  --adapt[=MIN:MAX]   adjust the level to the pipe's speed (gzip, zstd, lz4)\n"
"  -e, --extreme       xz, lzma: search longer for smaller output\n"
"  --long[=LOG]        zstd: a window of 2^LOG bytes (27)\n"
"  --seekable          zstd: write frames and a seek table\n"
"  --no-content-size   zstd: do not store the size of a file\n"
"  --flush-ms N        flush the output after N ms without input\n"
"  -n, -N              omit, or store and restore, name and time\n"
"  -m, -M, -T          omit the time; store it; same as -m\n"
"  --check NAME, -C    xz: none, crc32, crc64 or sha256\n"
"  --block-checksum    lz4: add a checksum of each block\n"
"  --legacy            lz4: write the frame that the Linux kernel reads\n"
"  -A NAME, -C TEXT    name (gzip, zip) and comment (gzip) to store\n"
"  -Y, --synchronous   sync the output before reporting success\n"
"  --verify            decompress the output and check it\n"
"  --stats[=FILE]      write a line of JSON for each file\n"
"  -q, -v              be quiet, or verbose\n"
"  -h, -L, -V          show this help, the licence, or versions\n";

int
pzc_help(struct pzc *p)
{
	printf("usage: %s", p->msg.prog);
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
