/*
 * as_unsquashfs_list.c - listings and counts in the format of unsquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "as.h"
#include "sqpack_read.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { WIDTH = 25, DEVICE_WIDTH = 7, ID_B = 64 };

static void
user_text(char text[ID_B], const struct as_unsquashfs *u, uint32_t id)
{
	const struct passwd *pw = u->numeric ? NULL : getpwuid(id);

	if (pw != NULL)
		snprintf(text, ID_B, "%s", pw->pw_name);
	else
		snprintf(text, ID_B, "%u", id);
}

static void
group_text(char text[ID_B], const struct as_unsquashfs *u, uint32_t id)
{
	const struct group *gr = u->numeric ? NULL : getgrgid(id);

	if (gr != NULL)
		snprintf(text, ID_B, "%s", gr->gr_name);
	else
		snprintf(text, ID_B, "%u", id);
}

static void
print_size(const struct sq_entry *e, int width)
{
	int pad = width - DEVICE_WIDTH;

	if (S_ISBLK(e->mode) || S_ISCHR(e->mode))
		printf("%*s%3u,%3u ", pad > 0 ? pad : 0, " ",
		    squashfs_major(e->rdev), squashfs_minor(e->rdev));
	else
		printf("%*llu ", width > 0 ? width : 0,
		    (unsigned long long)e->size);
}

static void
print_time(const struct as_unsquashfs *u, uint32_t seconds)
{
	time_t t = seconds;
	struct tm tm;

	if ((u->utc ? gmtime_r(&t, &tm) : localtime_r(&t, &tm)) != NULL)
		printf("%d-%02d-%02d %02d:%02d ", tm.tm_year + 1900,
		    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min);
}

static void
print_long(const struct as_unsquashfs *u, const struct sq_entry *e)
{
	char mode[LISTING_MODE_B], user[ID_B], group[ID_B];

	listing_mode(mode, e->mode);
	user_text(user, u, e->uid);
	group_text(group, u, e->gid);
	printf("%s %s/%s ", mode, user, group);
	print_size(e, WIDTH - (int)strlen(user) - (int)strlen(group));
	print_time(u, e->mtime);
}

static void
print_name(struct sqpack_image *i, size_t number, const char *path)
{
	const struct as_unsquashfs *u = i->p->o.as;
	struct sq_entry e;

	sq_get(i->m, number, &e);
	if (u->concise && S_ISDIR(e.mode) && sq_end(i->m, number) !=
	    number + 1)
		return;
	if (u->is_long)
		print_long(u, &e);
	printf("%s%s%s", i->p->o.directory, number == 0 ? "" : "/", path);
	if (u->is_long && S_ISLNK(e.mode))
		printf(" -> %.*s", (int)e.size, e.target);
	putchar('\n');
}

static int
print_all(struct sqpack_image *i)
{
	for (size_t n = 0; n < sq_count(i->m); n++) {
		const char *path;

		if (i->wanted[n] == SQ_OUT && n != 0)
			continue;
		path = sqpack_image_path(i, n);
		if (path == NULL)
			return -ENOMEM;
		print_name(i, n, path);
	}
	return 0;
}

int
as_unsquashfs_list(struct sqpack *p)
{
	struct sqpack_image i;
	int rc = sqpack_image_open(&i, p);

	if (rc == 0)
		rc = print_all(&i);
	sqpack_image_close(&i);
	return rc;
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

static void
print_counts(const struct counts *c)
{
	putchar('\n');
	print_count(c->files, "file", "files");
	print_count(c->dirs, "directory", "directories");
	print_count(c->links, "symlink", "symlinks");
	print_count(c->devices, "device", "devices");
	print_count(c->fifos, "fifo", "fifos");
	print_count(c->sockets, "socket", "sockets");
	print_count(c->hard, "hardlink", "hardlinks");
}

/* Prints the number of names to be extracted. */
static int
announce(struct sqpack *p, struct counts *c)
{
	const struct as_unsquashfs *u = p->o.as;
	struct sqpack_image i;
	int rc = sqpack_image_open(&i, p);

	if (rc == 0)
		count(&i, c);
	if (rc == 0 && !u->quiet) {
		printf("Parallel unsquashfs: Using %u processor%s\n",
		    p->o.data.threads, p->o.data.threads == 1 ? "" : "s");
		printf("%llu inodes (%llu blocks) to write\n\n",
		    (unsigned long long)(c->files + c->links + c->devices +
		    c->fifos + c->sockets + c->hard),
		    (unsigned long long)c->blocks);
	}
	if (rc == 0 && u->info)
		rc = print_all(&i);
	fflush(stdout);
	sqpack_image_close(&i);
	return rc;
}

int
as_unsquashfs_extract(struct sqpack *p)
{
	const struct as_unsquashfs *u = p->o.as;
	struct counts c = { .files = 0 };
	int rc = announce(p, &c);

	if (rc == 0)
		rc = sqpack_extract(p);
	if (rc == 0 && p->msg.status == MSG_OK && !u->quiet)
		print_counts(&c);
	return rc;
}

int
as_unsquashfs_cat(struct sqpack *p)
{
	const struct as_unsquashfs *u = p->o.as;

	p->o.glob_count = 0;
	return sqpack_cat_all(p, u->names.items, u->names.count);
}
