/*
 * sqpack_rebuild_check.c - checking that an image can be rebuilt from its tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_read.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/write/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PIECE = 1 << 18 };

struct check {
	struct sqpack_image i;		/* the image being checked */
	int fd;				/* the rebuilt image */
	uint8_t *old, *made;
	uint64_t at;			/* offset of the first difference */
	bool old_ends, made_ends;	/* the file ends at this offset */
};

/*
 * Compares the images from an offset onward.  Returns 1, with c->at set, if
 * they differ; 0 if not; or -errno.
 */
static int
compare_from(struct check *c, uint64_t from)
{
	for (c->at = from;; c->at += PIECE) {
		ssize_t a = fdio_pread(c->i.fd, c->old, PIECE,
		    (off_t)(c->i.offset + c->at));
		ssize_t b = fdio_pread(c->fd, c->made, PIECE, (off_t)c->at);
		size_t n = (size_t)(a < b ? a : b), k = 0;

		if (a < 0 || b < 0)
			return (int)(a < 0 ? a : b);
		if (memcmp(c->old, c->made, n) != 0)
			while (c->old[k] == c->made[k])
				k++;
		else
			k = n;
		if (k < n || a != b) {
			c->at += k;
			c->old_ends = k == (size_t)a;
			c->made_ends = k == (size_t)b;
			return 1;
		}
		if (a < PIECE)
			return 0;
	}
}

/*
 * Compares the superblock last, because any other difference also changes it.
 */
static int
compare(struct check *c)
{
	int rc = compare_from(c, SQUASHFS_SUPER_B);

	return rc != 0 ? rc : compare_from(c, 0);
}

/* Returns the first name whose blocks or fragment block contain the byte. */
static size_t
name_at(const struct sq_image *m, uint64_t at)
{
	struct sq_entry e;
	uint64_t from;
	uint32_t word;

	for (size_t n = 1; n < sq_count(m); n++) {
		sq_get(m, n, &e);
		if (!S_ISREG(e.mode) || e.size == 0 || e.lost)
			continue;
		if (at >= e.start && at - e.start < sq_stored(&e))
			return n;
		if (e.fragment == SQUASHFS_NONE)
			continue;
		sq_fragment(m, e.fragment, &from, &word);
		if (at >= from && at - from < sq_word_len(word))
			return n;
	}
	return 0;
}

static const char *
table_at(struct check *c)
{
	uint8_t s[SQUASHFS_SUPER_B] = { 0 };

	if (c->at < SQUASHFS_SUPER_B)
		return "in the superblock";
	if (fdio_pread(c->i.fd, s, sizeof(s), (off_t)c->i.offset) < 0)
		return "in the image";
	if (c->at >= load_le64(s + SQUASHFS_S_USED))
		return "in the padding";
	if (c->at >= load_le64(s + SQUASHFS_S_DIR_TABLE))
		return "in the listings or a table after them";
	if (c->at >= load_le64(s + SQUASHFS_S_INODE_TABLE))
		return "in the inodes";
	return "before the data, or between files";
}

static void
print_difference(struct check *c)
{
	size_t n = name_at(c->i.m, c->at);
	const char *path = n == 0 ? NULL : sqpack_image_path(&c->i, n);

	printf("different: byte %llu, ", (unsigned long long)c->at);
	if (c->old_ends || c->made_ends) {
		printf("where %s ends\n", c->old_ends ? "the image" :
		    "the rebuilt one");
	} else if (path != NULL) {
		fputs("in the data of ", stdout);
		listing_print(stdout, path, strlen(path));
		putchar('\n');
	} else {
		puts(table_at(c));
	}
}

static void
print_filters(int filters)
{
	const char *before = " --bcj ";

	for (int i = 0; i < SQW_FILTERS; i++)
		if ((filters & 1 << i) != 0) {
			printf("%s%s", before, sqw_filters[i]);
			before = ",";
		}
}

/* Prints all settings, including those for which the image has no field. */
static void
print_settings(const struct sqpack *p, bool level_given)
{
	const struct sqw_data_options *o = &p->o.data;
	char text[SQW_RECORD_MAX];

	printf("built by: -F %s", o->method->name);
	if (o->method->filters)
		print_filters(o->level);
	else if (o->method->level_min != o->method->level_max)
		printf(" -L %d%s", o->level, level_given ? " (as given)" : "");
	printf(" -b %u%s", o->block, o->no_probe ? " --no-probe" : "");
	printf("%s\n", sqw_record_make(o, text) > 0 && p->o.no_pad ?
	    "; the image cannot record all of these" : "");
}

static int
judge(struct sqpack *p, int fd)
{
	struct check c = { .fd = fd, .old = sys_malloc(PIECE),
		.made = sys_malloc(PIECE) };
	int rc = sqpack_image_open(&c.i, p);

	if (rc == 0 && (c.old == NULL || c.made == NULL))
		rc = -ENOMEM;
	if (rc == 0)
		rc = compare(&c);
	if (rc < 0)
		msg_error(&p->msg, "%s: %s", p->o.source, strerror(-rc));
	else if (rc > 0)
		print_difference(&c);
	else
		printf("equal: %llu bytes\n",
		    (unsigned long long)p->space.image_B);
	sqpack_image_close(&c.i);
	sys_free(c.old);
	sys_free(c.made);
	return rc > 0 ? -EBADMSG : rc;
}

int
sqpack_rebuild_check(struct sqpack *p)
{
	bool given = p->o.data.level != 0;
	int rc = sqpack_build_nowhere(p, &sqpack_rebuild, judge);

	if ((rc == 0 || p->msg.status == MSG_OK) && !p->msg.quiet)
		print_settings(p, given);
	return rc;
}
