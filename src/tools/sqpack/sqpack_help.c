/*
 * sqpack_help.c - the usage, help and version of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/options.h"
#include "format/gzip/deflate_engine.h"

#include <lz4.h>
#include <lzma.h>
#include <stdio.h>
#include <zstd.h>

const char sqpack_usage[] =
"usage: sqpack [-fhkqvV] [-F method] [-L level | --best] [-b block]\n"
"              [-p threads] [--bcj list]\n"
"              [--all-root] [--uid N] [--gid N] [--mtime seconds]\n"
"              [--exclude glob]... [--no-duplicates] [--no-fragments]\n"
"              [--no-xattrs] [--order list [-0]]\n"
"              [--raw data,fragments,inodes,xattrs] [--like mksquashfs]\n"
"              [--memory size]\n"
"              [--dry-run] [--stats[=file]] -o image directory|archive|image|-\n"
"       sqpack -l [-qv] [--can-mount[=kernel]] [glob]... image\n"
"       sqpack -x dir [-fqv] [-p threads] [--no-xattrs] [glob]... image\n"
"       sqpack --cat path image\n"
"       sqpack --can-mount[=kernel] image\n"
"       sqpack --rebuild-check [-qv] [-L level] [--no-probe] [-p threads]\n"
"              [--stats[=file]] image\n";

static const char help[] =
"\n"
"Builds a squashfs image from a directory, a tar archive"
#ifdef COLDPRESS_OCI
", the layers of an\nOCI image (layout[:tag])"
#endif
" or another image, on all cores; lists and extracts\nimages.\n"
"The bytes depend on neither the number of threads nor the clock.\n"
"\n"
"  -b, --block BYTES      a power of two from 4K to 1M; default 128K\n"
"  -F, --format METHOD    zstd (default), gzip, lz4, lz4hc, xz, lzo or none\n"
"  -f, --force            replace the image if there is one\n"
"  -k, --keep-going       leave out files that cannot be read\n"
"  -L, --level N          zstd 1 to 22 (15), gzip 1 to 12 (9), lzo 1 to 9 (8)\n"
"  -l, --list             the names in an image; -v: and what it is\n"
"  -o, --output FILE      the image\n"
"  -p, --threads N        that compress (default: the CPUs)\n"
"  -q, -v                 say less; say what was made\n"
"  -x, --extract DIR      the tree of an image, or what globs match, to DIR\n"
"      --bcj LIST         xz: try these filters for machine code: x86, arm, ...\n"
"      --best             the smallest image that the method makes; gzip:\n"
"                         level 10\n"
"      --cat PATH         a file of an image, to standard output\n"
"      --all-root         everything belongs to user and group 0\n"
"      --uid N, --gid N   everything belongs to these\n"
"      --mtime SECONDS    every time in the image, since 1970\n"
"      --can-mount[=KERNEL]  whether a kernel mounts the image: its\n"
"                         configuration file or version; default: this one\n"
"      --like mksquashfs  the very bytes of mksquashfs 4.5.1 with the snap\n"
"                         store's settings; xz unless -F says otherwise\n"
"      --exclude GLOB     leave out paths or names that match\n"
"      --no-duplicates    store files of the same content again\n"
"      --no-export        no table of inode numbers for NFS\n"
"      --no-fragments     small files do not share blocks\n"
"      --no-pad           do not round the image up to 4 KiB\n"
"      --no-probe         compress, too, what a quick look finds too dense\n"
"      --no-xattrs        leave extended attributes out\n"
"      --order LIST       data of the files that LIST names come first\n"
"  -0, --null             paths in LIST end in NULs\n"
"      --raw LIST         do not compress data, fragments, inodes, xattrs\n"
"      --memory SIZE      refuse an image that takes more memory for its\n"
"                         tables, names and lists of blocks (1G)\n"
"      --dry-run          say what the image would take, and make none\n"
"      --rebuild-check    build an image again from its own tree, and say\n"
"                         whether that gives the same bytes\n"
"      --stats[=FILE]     what was done, as a line of JSON\n"
"  -h, -V                 this help; versions\n";

int
sqpack_help(struct sqpack *p)
{
	return options_help(&p->msg, sqpack_usage, help);
}

int
sqpack_version(struct sqpack *p)
{
	printf("sqpack (coldpress) %s\n%s\nlz4 %s\nzstd %s\nxz %s\n",
	    COLDPRESS_VERSION, deflate_engine_versions(),
	    LZ4_versionString(), ZSTD_versionString(),
	    lzma_version_string());
	return msg_finish(&p->msg);
}
