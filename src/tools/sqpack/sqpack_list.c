/*
 * sqpack_list.c - listing the names in an image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack_read.h"

#include "base/sandbox.h"
#include "base/utc.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { WIDTH = 24 };			/* total width of owner, blanks and
					 * size */

static void
size_text(char text[32], const struct sq_entry *e)
{
	if (S_ISBLK(e->mode) || S_ISCHR(e->mode))
		snprintf(text, 32, "%u,%3u", squashfs_major(e->rdev),
		    squashfs_minor(e->rdev));
	else
		snprintf(text, 32, "%llu", (unsigned long long)e->size);
}

/*
 * Formats the total size of the file's own blocks; "+" means that its tail is
 * in a fragment block.
 */
static void
stored_text(char text[32], const struct sq_image *m,
    const struct sq_entry *e)
{
	if (!S_ISREG(e->mode) || e->lost)
		strcpy(text, "-");
	else
		snprintf(text, 32, "%llu%s",
		    (unsigned long long)sq_stored(e),
		    sq_tail_len(m, e) > 0 ? "+" : "");
}

static void
print_long(const struct sqpack_image *i, const struct sq_entry *e)
{
	char mode[LISTING_MODE_B] = "??????????", owner[32] = "?/?", size[32], stored[32];
	char time[UTC_B];
	int pad;

	if (e->mode != 0)
		listing_mode(mode, e->mode);
	if (e->has_owner)
		snprintf(owner, sizeof(owner), "%u/%u", e->uid, e->gid);
	size_text(size, e);
	stored_text(stored, i->m, e);
	utc_text(time, (int64_t)e->mtime * 1000000000);
	time[10] = ' ';
	pad = WIDTH - (int)strlen(owner) - 1;
	printf("%s %s %*s %10s %.16s ", mode, owner, pad < 0 ? 0 : pad, size,
	    stored, time);
}

static void
print_name(struct sqpack_image *i, size_t number, const char *path)
{
	struct sq_entry e;

	sq_get(i->m, number, &e);
	if (i->p->msg.verbose > 0)
		print_long(i, &e);
	listing_print(stdout, *path == '\0' ? "." : path,
	    *path == '\0' ? 1 : strlen(path));
	if (S_ISDIR(e.mode) && *path != '\0')
		putchar('/');
	if (i->p->msg.verbose > 0 && S_ISLNK(e.mode)) {
		fputs(" -> ", stdout);
		listing_print(stdout, e.target, (size_t)e.size);
	}
	putchar('\n');
}

static int
print_all(struct sqpack_image *i)
{
	size_t count = sq_count(i->m);

	/* the root is listed only in the long form */
	for (size_t n = i->p->msg.verbose > 0 ? 0 : 1; n < count; n++) {
		const char *path;

		if (i->wanted[n] != SQ_IN)
			continue;
		path = sqpack_image_path(i, n);
		if (path == NULL)
			return -ENOMEM;
		print_name(i, n, path);
	}
	return 0;
}

int
sqpack_list(struct sqpack *p)
{
	struct sqpack_image i;
	bool confined;
	int rc = sqpack_image_open(&i, p);

	if (rc == 0 && p->msg.verbose > 0)
		sqpack_print_facts(&i);
	if (rc == 0)
		sandbox_enter(&confined);
	if (rc == 0)
		rc = print_all(&i);
	sqpack_image_close(&i);
	return rc;
}

int
sqpack_mount(struct sqpack *p)
{
	struct sqpack_image i;
	char why[256];
	int rc = sqpack_image_open(&i, p);

	if (rc == 0) {
		rc = sq_can_mount(&i.file, p->o.kernel, why, sizeof(why));
		if (rc < -1)
			msg_error(&p->msg, "%s: %s", p->o.kernel,
			    strerror(-rc));
		else
			printf("%s: %s\n", rc == 1 ? "yes" :
			    rc == 0 ? "no" : "unknown", why);
		rc = rc == 1 ? 0 : rc == 0 ? -ENOTSUP : -ENOENT;
	}
	sqpack_image_close(&i);
	return rc;
}
