/*
 * sqpack_help.c - the usage, help and version of sqpack
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/options.h"
#include "engine/packer/packer.h"
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
"              [--memory size] [--offset bytes]\n"
"              [--dry-run] [--stats[=file]] -o image directory|archive|image|-\n"
"       sqpack -l [-qv] [--can-mount[=kernel]] [--offset bytes] [glob]... image\n"
"       sqpack -x dir [-fqv] [-p threads] [--no-xattrs] [--offset bytes]\n"
"              [glob]... image\n"
"       sqpack --cat path [--offset bytes] image\n"
"       sqpack --can-mount[=kernel] [--offset bytes] image\n"
"       sqpack --rebuild-check [-qv] [-L level] [--no-probe] [-p threads]\n"
"              [--offset bytes] [--stats[=file]] image\n";

static const char help[] =
"\n"
"Builds a squashfs image from a directory, a tar archive"
#ifdef COLDPRESS_OCI
", the layers of an\nOCI image (layout[:tag])"
#endif
" or another image, on all cores; lists and extracts\nimages.\n"
"The output depends neither on the number of threads nor on the current time.\n"
"\n"
"  -b, --block BYTES      a power of two from 4K to 1M; default 128K\n"
"  -F, --format METHOD    zstd (default), gzip, lz4, lz4hc, xz, lzo or none\n"
"  -f, --force            replace an existing image\n"
"  -k, --keep-going       leave out files that cannot be read\n"
"  -L, --level N          zstd 1 to 22 (15), gzip 1 to 12 (9), lzo 1 to 9 (8)\n"
"  -l, --list             list the names in an image; -v: also describe it\n"
"  -o, --output FILE      the image to create\n"
"  -p, --threads N        number of compression threads (default: usable CPUs)\n"
"  -q, -v                 be quiet, or verbose\n"
"  -x, --extract DIR      extract an image, or names matching globs, to DIR\n"
"      --bcj LIST         xz: also try these BCJ filters: x86, arm, ...\n"
"      --best             the smallest image that the method allows; gzip:\n"
"                         level 10\n"
"      --cat PATH         write a file from an image to standard output\n"
"      --all-root         give everything to user and group 0\n"
"      --uid N, --gid N   give everything to this user or group\n"
"      --mtime SECONDS    set all times in the image (since 1970)\n"
"      --can-mount[=KERNEL]  report whether a kernel can mount the image;\n"
"                         KERNEL: configuration or version; default: the\n"
"                         running one\n"
"      --like mksquashfs  produce the same bytes as mksquashfs 4.5.1 with the\n"
"                         snap store's settings; xz unless -F says otherwise\n"
"      --exclude GLOB     leave out paths or names that match\n"
"      --no-duplicates    store identical files separately\n"
"      --no-export        omit the inode lookup table for NFS\n"
"      --no-fragments     do not let small files share blocks\n"
"      --no-pad           do not round the image up to 4 KiB\n"
"      --no-probe         compress even blocks that look incompressible\n"
"      --no-xattrs        omit extended attributes\n"
"      --offset BYTES     offset of the image that is read in its file\n"
"      --order LIST       store the files in LIST first\n"
"  -0, --null             paths in LIST end with NUL\n"
"      --raw LIST         do not compress data, fragments, inodes, xattrs\n"
"      --memory SIZE      reject an image that needs more memory for its\n"
"                         tables, names and block lists (1G)\n"
"      --dry-run          write no image; with --stats, report its size\n"
"      --rebuild-check    rebuild an image from its own contents, and report\n"
"                         whether the bytes are the same\n"
"      --stats[=FILE]     write statistics as a line of JSON\n"
"  -h, -V                 this help; versions\n";

int
sqpack_help(struct sqpack *p)
{
	return options_help(&p->msg, sqpack_usage, help);
}

void
sqpack_versions(char text[SQPACK_VERSIONS_B])
{
	snprintf(text, SQPACK_VERSIONS_B,
	    "sqpack (coldpress) %s\n%s\nlz4 %s\nzstd %s\nxz %s%s",
	    COLDPRESS_VERSION, deflate_engine_versions(),
	    LZ4_versionString(), ZSTD_versionString(),
	    lzma_version_string(), packer_lzo_notice());
}

int
sqpack_version(struct sqpack *p)
{
	char text[SQPACK_VERSIONS_B];

	sqpack_versions(text);
	printf("%s\n", text);
	return msg_finish(&p->msg);
}
