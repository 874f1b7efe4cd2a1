/*
 * touchlog_write.c - writing the list in the requested format
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "touchlog.h"

#include "base/sys.h"
#include "measure/cold.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* mksquashfs puts the files with the highest priority first. */
enum { PRIORITY_MAX = 32767, PRIORITY_MIN = -32768 };

struct listing {
	FILE *f;
	int end;
	uint64_t order;			/* number of the current file, from 1 */
	const char *path;
	bool any;			/* one of its lines has been written */
};

static int
write_range(void *arg, uint64_t offset, uint64_t len)
{
	struct listing *l = arg;

	fprintf(l->f, "%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "%c", l->order,
	    l->path, offset, len, l->end);
	l->any = true;
	return 0;
}

/* Writes the parts of a file or, if none were needed, a line with length 0. */
static int
write_pages(struct touchlog *t, struct listing *l, uint64_t size)
{
	int fd = tree_open(t->root, l->path, 0), rc = fd;

	l->any = false;
	if (fd >= 0) {
		rc = cold_ranges(fd, size, write_range, l);
		sys_close(fd);
	}
	if (rc == 0 && !l->any)
		write_range(l, 0, 0);
	return rc;
}

/* In mksquashfs's -sort file, a backslash escapes the next character. */
static void
write_sort(const struct listing *l)
{
	int64_t priority = PRIORITY_MAX + 1 - (int64_t)l->order;

	for (const char *s = l->path; *s != '\0'; s++) {
		if (strchr(" \t\\\"#", *s) != NULL)
			putc('\\', l->f);
		putc(*s, l->f);
	}
	fprintf(l->f, " %" PRId64 "\n", priority < PRIORITY_MIN ?
	    PRIORITY_MIN : priority);
}

static int
write_touched(struct touchlog *t, struct listing *l,
    const struct touchlog_file *f)
{
	l->order++;
	l->path = f->path;
	if (!t->o.null_lines && strchr(f->path, '\n') != NULL) {
		msg_error(&t->msg, "%s: the name contains a newline%s", f->path,
		    t->o.format == TOUCHLOG_SORT ? "; mksquashfs cannot "
		    "read it" : " (-0 ends lines with NUL)");
		return TOUCHLOG_TOLD;
	}
	if (t->o.pages)
		return write_pages(t, l, f->size);
	if (t->o.format == TOUCHLOG_SORT)
		write_sort(l);
	else if (t->o.format == TOUCHLOG_LIST)
		fprintf(l->f, "%s%c", f->path, l->end);
	else
		write_range(l, 0, f->size);
	return 0;
}

int
touchlog_write(struct touchlog *t, int fd)
{
	struct listing l = { .end = t->o.null_lines ? '\0' : '\n' };
	int rc = 0;

	if (t->o.pages && !t->o.exact && !t->msg.quiet)
		msg_note(&t->msg, "data read ahead and the rest of each block "
		    "are also listed; --exact lists single pages");
	l.f = fdopen(dup(fd), "w");
	if (l.f == NULL)
		return -errno;
	for (size_t i = 0; rc == 0 && i < t->count; i++)
		if (t->files[i].path != NULL)
			rc = write_touched(t, &l, &t->files[i]);
	if (rc == 0 && ferror(l.f))
		rc = -EIO;
	if (fclose(l.f) == EOF && rc == 0)
		rc = -errno;
	return rc;
}
