/*
 * as_unsquashfs_stat.c - describing an image in the format of unsquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"
#include "sqpack_read.h"

#include "base/bytes.h"

#include <string.h>
#include <time.h>

static void
print_bits(const char *what, uint32_t bits, const char *const *names,
    size_t count)
{
	const char *comma = "";

	printf("\t%s selected: ", what);
	for (size_t i = 0; i < count; i++)
		if ((bits & 1U << i) != 0) {
			printf("%s%s", comma, names[i]);
			comma = ", ";
		}
	putchar('\n');
}

static void
print_gzip(const struct sq_facts *f)
{
	uint32_t word = load_le32(f->settings + 4), strategies = word >> 16;

	printf("\tcompression-level %u\n\twindow-size %u\n",
	    load_le32(f->settings), word & 0xffff);
	if (strategies == 0)
		puts("\tStrategies selected: default");
	else
		print_bits("Strategies", strategies, sqpack_strategies,
		    SQPACK_STRATEGIES);
}

static void
print_xz(const struct sq_facts *f)
{
	uint32_t filters = load_le32(f->settings + 4);

	printf("\tDictionary size %u\n", load_le32(f->settings));
	if (filters == 0)
		puts("\tNo filters specified");
	else
		print_bits("Filters", filters, sqw_filters, SQW_FILTERS);
}

static void
print_lzo(const struct sq_facts *f)
{
	uint32_t n = load_le32(f->settings);

	if (n < SQPACK_LZOS)
		printf("\talgorithm %s\n", sqpack_lzos[n]);
	if (n == SQPACK_LZOS - 1)
		printf("\tcompression level %u\n", load_le32(f->settings + 4));
}

static void
print_settings(const struct sq_facts *f)
{
	if (f->settings_B >= 4 && f->compressor == SQUASHFS_ZSTD)
		printf("\tcompression-level %u\n", load_le32(f->settings));
	if (f->settings_B < 8)
		return;
	switch (f->compressor) {
	case SQUASHFS_GZIP: print_gzip(f); break;
	case SQUASHFS_XZ: print_xz(f); break;
	case SQUASHFS_LZO: print_lzo(f); break;
	case SQUASHFS_LZ4:
		if ((load_le32(f->settings + 4) & 1) != 0)
			puts("\tHigh Compression option specified (-Xhc)");
		break;
	default: break;
	}
}

static uint32_t
count_xattrs(const struct sq_image *m)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sq_count(m); i++) {
		struct sq_entry e;

		sq_get(m, i, &e);
		if (e.xattr != SQUASHFS_NONE && e.xattr >= n)
			n = e.xattr + 1;
	}
	return n;
}

static const char *
un(const struct sq_facts *f, unsigned bits)
{
	return (f->flags & bits) != 0 ? "un" : "";
}

static void
print_flags(const struct sq_facts *f)
{
	printf("Filesystem is %sexportable via NFS\n", f->exports ? "" :
	    "not ");
	printf("Inodes are %scompressed\n", un(f, SQUASHFS_RAW_INODES));
	printf("Data is %scompressed\n", un(f, SQUASHFS_RAW_DATA));
	printf("Uids/Gids (Id table) are %scompressed\n",
	    un(f, SQUASHFS_RAW_INODES | SQUASHFS_RAW_IDS));
	if ((f->flags & SQUASHFS_NO_FRAGMENTS) != 0) {
		puts("Fragments are not stored");
	} else {
		printf("Fragments are %scompressed\n",
		    un(f, SQUASHFS_RAW_FRAGMENTS));
		printf("Always-use-fragments option is %sspecified\n",
		    (f->flags & SQUASHFS_ALWAYS_FRAGMENTS) != 0 ? "" :
		    "not ");
	}
	if ((f->flags & SQUASHFS_NO_XATTRS) != 0)
		puts("Xattrs are not stored");
	else
		printf("Xattrs are %scompressed\n",
		    un(f, SQUASHFS_RAW_XATTRS));
	printf("Duplicates are %sremoved\n",
	    (f->flags & SQUASHFS_DEDUPLICATED) != 0 ? "" : "not ");
}

static void
print_stat(const struct sqpack_image *i)
{
	const struct as_unsquashfs *u = i->p->o.as;
	const struct sq_facts *f = sq_facts(i->m);
	double size = (double)f->used_B;
	time_t t = f->mtime;
	struct tm tm = { .tm_mday = 1 };
	char date[64];

	if (u->utc)
		gmtime_r(&t, &tm);
	else
		localtime_r(&t, &tm);
	strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &tm);
	printf("Found a valid SQUASHFS 4:0 superblock on %s.\n",
	    i->p->o.source);
	printf("Creation or last append time %s\n", date);
	printf("Filesystem size %llu bytes (%.2f Kbytes / %.2f Mbytes)\n",
	    (unsigned long long)f->used_B, size / 1024, size / 1048576);
	printf("Compression %s\n", sq_compressor_name(f->compressor));
	print_settings(f);
	printf("Block size %u\n", f->block);
	print_flags(f);
	printf("Number of fragments %u\nNumber of inodes %u\n"
	    "Number of ids %u\n", f->fragments, f->inodes, f->ids);
	if ((f->flags & SQUASHFS_NO_XATTRS) == 0)
		printf("Number of xattr ids %u\n", count_xattrs(i->m));
}

int
as_unsquashfs_stat(struct sqpack *p)
{
	struct sqpack_image i;
	int rc;

	p->o.glob_count = 0;
	rc = sqpack_image_open(&i, p);
	if (rc == 0)
		print_stat(&i);
	sqpack_image_close(&i);
	return rc;
}

int
as_unsquashfs_time(struct sqpack *p)
{
	struct sqpack_image i;
	int rc;

	p->o.glob_count = 0;
	rc = sqpack_image_open(&i, p);
	if (rc == 0)
		printf("%u\n", sq_facts(i.m)->mtime);
	sqpack_image_close(&i);
	return rc;
}
