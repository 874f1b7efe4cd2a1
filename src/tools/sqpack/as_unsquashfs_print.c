/*
 * as_unsquashfs_print.c - what unsquashfs does and prints, in its format
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"

#include "base/bytes.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { WIDTH = 25, DEVICE_WIDTH = 7, ID_B = 64 };

static void
print_long(const struct as_unsquashfs *u, const struct sq_entry *e)
{
	const struct passwd *pw = u->numeric ? NULL : getpwuid(e->uid);
	const struct group *gr = u->numeric ? NULL : getgrgid(e->gid);
	char mode[LISTING_MODE_B], user[ID_B], group[ID_B];
	time_t t = e->mtime;
	struct tm tm;
	int width, pad;

	listing_mode(mode, e->mode);
	snprintf(user, ID_B, "%u", e->uid);
	if (pw != NULL)
		snprintf(user, ID_B, "%s", pw->pw_name);
	snprintf(group, ID_B, "%u", e->gid);
	if (gr != NULL)
		snprintf(group, ID_B, "%s", gr->gr_name);
	printf("%s %s/%s ", mode, user, group);
	width = WIDTH - (int)strlen(user) - (int)strlen(group);
	pad = width - DEVICE_WIDTH;
	if (S_ISBLK(e->mode) || S_ISCHR(e->mode))
		printf("%*s%3u,%3u ", pad > 0 ? pad : 0, " ",
		    squashfs_major(e->rdev), squashfs_minor(e->rdev));
	else
		printf("%*llu ", width > 0 ? width : 0,
		    (unsigned long long)e->size);
	if ((u->utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) != NULL)
		printf("%d-%02d-%02d %02d:%02d ", tm.tm_year + 1900,
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
}

int
as_unsquashfs_list(struct sqpack_image *i)
{
	const struct as_unsquashfs *u = i->p->o.as;

	for (size_t n = 0; n < sq_count(i->m); n++) {
		const char *path;
		struct sq_entry e;

		if (i->wanted[n] == SQ_OUT && n != 0)
			continue;
		path = sqpack_image_path(i, n);
		if (path == NULL)
			return -ENOMEM;
		sq_get(i->m, n, &e);
		if (u->concise && S_ISDIR(e.mode) && sq_end(i->m, n) != n + 1)
			continue;
		if (u->is_long)
			print_long(u, &e);
		printf("%s%s%s", i->p->o.directory, n == 0 ? "" : "/", path);
		if (u->is_long && S_ISLNK(e.mode))
			printf(" -> %.*s", (int)e.size, e.target);
		putchar('\n');
	}
	return 0;
}

/* The number of extracted names of each type. */
struct counts {
	uint64_t files, dirs, links, devices, fifos, sockets, hard, blocks;
};

static void
count(const struct sqpack_image *i, struct counts *c)
{
	uint32_t block = sq_facts(i->m)->block;

	for (size_t n = 0; n < sq_count(i->m); n++) {
		struct sq_entry e;

		if (i->wanted[n] == SQ_OUT && n != 0)
			continue;
		sq_get(i->m, n, &e);
		if (S_ISDIR(e.mode))
			c->dirs++;
		else if (e.first != n)
			c->hard++;
		else if (S_ISREG(e.mode)) {
			c->files++;
			c->blocks += (e.size + block - 1) / block;
		} else if (S_ISLNK(e.mode))
			c->links++;
		else if (S_ISFIFO(e.mode))
			c->fifos++;
		else if (S_ISSOCK(e.mode))
			c->sockets++;
		else
			c->devices++;
	}
}

static void
print_count(uint64_t n, const char *one, const char *many)
{
	printf("created %llu %s\n", (unsigned long long)n,
	    n == 1 ? one : many);
}

int
as_unsquashfs_extract(struct sqpack_image *i)
{
	struct sqpack *p = i->p;
	const struct as_unsquashfs *u = p->o.as;
	struct counts c = { .files = 0 };
	int rc;

	count(i, &c);
	if (!u->quiet) {
		printf("Parallel unsquashfs: Using %u processor%s\n",
		    p->o.data.threads, p->o.data.threads == 1 ? "" : "s");
		printf("%llu inodes (%llu blocks) to write\n\n",
		    (unsigned long long)(c.files + c.links + c.devices +
		    c.fifos + c.sockets + c.hard),
		    (unsigned long long)c.blocks);
	}
	rc = u->info ? as_unsquashfs_list(i) : 0;
	fflush(stdout);
	if (rc == 0)
		rc = sqpack_extract(i);
	if (rc != 0 || p->msg.status != MSG_OK || u->quiet)
		return rc;
	putchar('\n');
	print_count(c.files, "file", "files");
	print_count(c.dirs, "directory", "directories");
	print_count(c.links, "symlink", "symlinks");
	print_count(c.devices, "device", "devices");
	print_count(c.fifos, "fifo", "fifos");
	print_count(c.sockets, "socket", "sockets");
	print_count(c.hard, "hardlink", "hardlinks");
	return 0;
}

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
print_settings(const struct sq_facts *f)
{
	uint32_t first, second;

	if (f->settings_B < 4)
		return;
	first = load_le32(f->settings);
	if (f->compressor == SQUASHFS_ZSTD)
		printf("\tcompression-level %u\n", first);
	if (f->settings_B < 8)
		return;
	second = load_le32(f->settings + 4);
	switch (f->compressor) {
	case SQUASHFS_GZIP:
		printf("\tcompression-level %u\n\twindow-size %u\n", first,
		    second & 0xffff);
		if (second >> 16 == 0)
			puts("\tStrategies selected: default");
		else
			print_bits("Strategies", second >> 16,
			    sqpack_strategies, SQPACK_STRATEGIES);
		break;
	case SQUASHFS_XZ:
		printf("\tDictionary size %u\n", first);
		if (second == 0)
			puts("\tNo filters specified");
		else
			print_bits("Filters", second, sqw_filters,
			    SQW_FILTERS);
		break;
	case SQUASHFS_LZO:
		if (first < SQPACK_LZOS)
			printf("\talgorithm %s\n", sqpack_lzos[first]);
		if (first == SQPACK_LZOS - 1)
			printf("\tcompression level %u\n", second);
		break;
	case SQUASHFS_LZ4:
		if ((second & 1) != 0)
			puts("\tHigh Compression option specified (-Xhc)");
		break;
	default: break;
	}
}

static const char *
un(const struct sq_facts *f, unsigned bits)
{
	return (f->flags & bits) != 0 ? "un" : "";
}

int
as_unsquashfs_stat(struct sqpack_image *i)
{
	const struct as_unsquashfs *u = i->p->o.as;
	const struct sq_facts *f = sq_facts(i->m);
	double size = (double)f->used_B;
	uint32_t xattrs = 0;
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
	printf("Number of fragments %u\nNumber of inodes %u\n"
	    "Number of ids %u\n", f->fragments, f->inodes, f->ids);
	for (size_t n = 0; n < sq_count(i->m); n++) {
		struct sq_entry e;

		sq_get(i->m, n, &e);
		if (e.xattr != SQUASHFS_NONE && e.xattr >= xattrs)
			xattrs = e.xattr + 1;
	}
	if ((f->flags & SQUASHFS_NO_XATTRS) == 0)
		printf("Number of xattr ids %u\n", xattrs);
	return 0;
}

int
as_unsquashfs_time(struct sqpack_image *i)
{
	printf("%u\n", sq_facts(i->m)->mtime);
	return 0;
}
